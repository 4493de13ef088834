/* kernels.h - the portable signal kernels behind tw_services_t.
 *
 * They know samples, coefficients and state. A port with faster ones overwrites
 * the table after tw_services_default().
 *
 * Both biquads are direct form 1 cascades, y = b0 x + b1 x1 + b2 x2 + a1 y1 + a2 y2:
 *
 *   coef5   {b0, b1, b2, a1, a2} a stage, feedback signs already turned
 *   state   {x1, x2, y1, y2} a stage; zero to begin with
 *   in/out  n samples each, the same array or disjoint ones
 *
 * biquad_q15: effective coefficient = coef5 / 32768 * 2^post_shift, post_shift 0..15. The sum is exact
 * (64 bits), then shifted with truncation towards minus infinity and saturated, stage by stage.
 *
 * biquad_f32: the sum is formed in the order b0, b1, b2, a2, a1, so that only one product waits for the
 * sample before. State that is no signal any more (below 1e-30, which would be slow to compute with) or
 * never was one (NaN, infinite) becomes 0 at the end of a call: one bad sample does not silence a filter.
 *
 * biquad_f32_channels: interleaved channels side by side in vectors, the same bits as one by one.
 */
#pragma once
#include "engine/node/services.h"

/** Fill the table with the kernels and the library of this build, and say so in its mask; ctx, port and run_script
 *  stay as they are. */
void tw_services_default(tw_services_t *svc);

#if TW_SMALL
/** The kernels of the small profile, in flash: no table in RAM. */
extern const tw_services_t tw_services_small;
#endif
