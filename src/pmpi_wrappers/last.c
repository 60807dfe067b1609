/* last: a library without content. backend/glue/device.c loads it and sees whether another one was loaded behind it. */
typedef int hp_last_t;
