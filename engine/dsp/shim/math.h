/* math.h as kissfft and speexdsp see it: their few functions, computed by ours, so that no C library is needed and
 * every machine has the same tables. Only those two libraries are compiled with this folder in their path. */
#pragma once
#include "engine/dsp/dsp_math.h"

#define exp tw_exp
#define log tw_log
#define log10(x) (tw_log(x) * 0.43429448190325182765)
#define pow tw_pow
#define sqrt tw_sqrt
#define floor tw_floor
#define sin tw_sin
#define cos tw_cos
#define atan tw_atan
