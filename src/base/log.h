/* log: what the library says, on standard error, one line a message.
 *
 * Levels: 0 errors, 1 warnings (default), 2 information, 3 debugging; HANPMPI_VERBOSE sets the highest one
 * shown. Threads: callable from any thread; a line is written with one write(2), so lines of ranks do not
 * mix. Ownership: nothing allocated. */
#ifndef HP_BASE_LOG_H
#define HP_BASE_LOG_H

typedef enum { HP_LOG_ERROR, HP_LOG_WARN, HP_LOG_INFO, HP_LOG_DEBUG } hp_log_level_t;

/* Highest level shown. */
void hp_log_set_level(int level);
int hp_log_level(void);
/* Who speaks: "rank 3" or "mpirun"; at most 31 characters are kept. NULL = nobody. */
void hp_log_set_who(const char *who);

void hp_log_write(hp_log_level_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define hp_error(...) hp_log_write(HP_LOG_ERROR, __VA_ARGS__)
#define hp_warn(...)  hp_log_write(HP_LOG_WARN, __VA_ARGS__)
#define hp_info(...)  hp_log_write(HP_LOG_INFO, __VA_ARGS__)
#define hp_debug(...) hp_log_write(HP_LOG_DEBUG, __VA_ARGS__)

#endif
