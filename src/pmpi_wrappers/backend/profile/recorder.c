#include "pmpi_wrappers/backend/profile/recorder.h"

hp_recorder_t hp_recorder;
hp_recorder_thread_t hp_recorder_only_thread;
