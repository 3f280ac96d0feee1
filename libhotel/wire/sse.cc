#include "libhotel/wire/sse.h"
