#include "libhotel/settings/config.h"
