#include "pmpi_wrappers/backend/profile/book/recorder.h"

hp_recorder_t hp_recorder;
