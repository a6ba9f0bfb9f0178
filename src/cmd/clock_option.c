#include "cmd/clock_option.h"

const char *const clock_words[] = { "auto", "cpu-clock", "cycles", NULL };
