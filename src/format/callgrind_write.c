#include "format/callgrind.h"
