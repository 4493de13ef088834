/* Every tag of IO manifests: its default, a value, a wrong value; a row of the table without a case fails. */
#include "engine/base/bytes.h"
#include "engine/board/manifest_lex.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static tw_io_manifest_t io;
static tw_diags_t d;

static bool parse_as(const char *text, bool strict)
{
    tw_text_t t;
    d = (tw_diags_t){.strict = strict};
    tw_text_open(&t, "io.txt", text, strlen(text), &d);
    return tw_io_manifest_parse(&io, &t);
}

static bool parse(const char *text)
{
    return parse_as(text, false);
}

static bool is(const tw_options_t *o, unsigned n, unsigned def, double first)
{
    return !o->any && o->n == n && o->def == def && o->v[0] == first;
}

/* The option set a tag made. */
static bool set(const tw_io_manifest_t *m, const char *tag, unsigned n, unsigned def, double first)
{
    const int i = tw_setting_find(m, tag, strlen(tag));
    return i >= 0 && is(&m->settings[i].o, n, def, first);
}

static bool text(const tw_io_manifest_t *m, const char *tag, const char *value)
{
    const char *kept = tw_io_extra(m, tag);
    return kept != NULL && strcmp(kept, value) == 0;
}

/* X(id, line, tag, value, holds by default, holds with the value, wrong value, what is said)
 * line: of seed 000; 0: lost in its scan, a later spelling or Tunewire's own. Every wrong value of "" that is
 * right has nothing said. */
#define CASES(X)                                                                                                       \
    X(commander, 712, "io_commander0_servant1", "0", m->commander == 1, m->commander == 0, "2",                        \
      "io_commander0_servant1 is 2, allowed 0..1")                                                                     \
    X(buffer, 745, "io_buffer_allocation", "2.1", m->buffer_allocation == 0, m->buffer_allocation == 2.1f, "65",       \
      "io_buffer_allocation is 65, allowed 0..64")                                                                     \
    X(direction, 719, "io_direction_rx0tx1", "1", m->direction == 0, m->direction == 1, "2",                           \
      "io_direction_rx0tx1 is 2, allowed 0..1")                                                                        \
    X(raw, 720, "io_raw_format", "S16", m->raw == 0 && m->raw_options.any,                                             \
      m->raw == TW_RAW_S16 && is(&m->raw_options, 1, 0, TW_RAW_S16), "S99", "'S99' is no value for raw type")          \
    X(interleaving, 721, "io_interleaving", "1", m->interleaving == 0, m->interleaving == 1, "2",                      \
      "io_interleaving is 2, allowed 0..1")                                                                            \
    X(channels, 755, "io_nb_channels", "{1 1 2}", m->channels.any, is(&m->channels, 2, 0, 1), "{1 33}",                \
      "channels option 33, allowed 1..32")                                                                             \
    X(length, 723, "io_frame_length", "{1 1 2 16 }", m->frame_length.any, is(&m->frame_length, 3, 0, 1), "{4 1 2 16}", \
      "default entry 4 of frame length, but there are 3")                                                              \
    X(duration, 724, "io_frame_duration", "{1 10 22.5}", m->frame_duration_ms.any,                                     \
      is(&m->frame_duration_ms, 2, 0, 10), "", "expected options for frame duration")                                  \
    X(unit, 725, "io_subtype_units", "VRMS", m->unit == 0, m->unit == 104, "VRMZ",                                     \
      "unknown unit 'VRMZ', did you mean 'Vrms'?")                                                                     \
    X(units, 726, "io_subtype_multiple", "{DPS GAUSS}", m->n_units == 0,                                               \
      m->n_units == 2 && m->units[0] == 102 && m->units[1] == 103, "{1 2 3 4 5}", "more than 4 units")                 \
    X(power, 727, "io_power_mode", "3", m->power_mode == 0, m->power_mode == 3, "4",                                   \
      "io_power_mode is 4, allowed 0..3")                                                                              \
    X(position, 728, "io_position", "meter 1.1 -2.2 0.01", !m->has_position,                                           \
      m->has_position && m->position_unit == 1 && m->position[1] == -2.2f, "meter 1.1 2", "expected a value for z")    \
    X(euler, 729, "io_euler_angles", "10 20 90", m->euler_deg[2] == 0, m->euler_deg[0] == 10 && m->euler_deg[2] == 90, \
      "10 20 361", "third angle is 361, allowed -360..360")                                                            \
    X(rate, 730, "io_sampling_rate", "{1 16000 44100 48000}", m->rate_hz.any, is(&m->rate_hz, 3, 0, 16000),            \
      "{1 -5 16000}", "sampling rate option -5, allowed 0..1e+09")                                                     \
    X(period_s, 731, "io_sampling_period_s", "{1 1 60 }", m->period_s.any, is(&m->period_s, 2, 0, 1), "{1 x}",         \
      "'x' is no value for sampling period")                                                                           \
    X(period_day, 732, "io_sampling_period_day", "{1 0.25 1 7}", m->period_day.any, is(&m->period_day, 3, 0, 0.25),    \
      "{5 1 7}", "default entry 5 of sampling period, but there are 2")                                                \
    X(accuracy, 733, "io_sampling_rate_accuracy", "0.1", m->accuracy == 0, m->accuracy == 0.1f, "101",                 \
      "io_sampling_rate_accuracy is 101, allowed 0..100")                                                              \
    X(ts_format, 734, "io_time_stamp_format", "{1 1}", is(&m->ts_format, 1, 0, 0), is(&m->ts_format, 1, 0, 1),         \
      "{1 4}", "time-stamp format option 4, allowed 0..3")                                                             \
    X(ts_length, 735, "io_time_stamp_length", "{1 2}", is(&m->ts_length, 1, 0, 1), is(&m->ts_length, 1, 0, 2),         \
      "{1 4}", "time-stamp length option 4, allowed 0..3")                                                             \
    X(scale, 784, "io_analog_scale", "1400", m->analog_scale == 0, m->analog_scale == 1400, "-1",                      \
      "io_analog_scale is -1, allowed 0..1e+12")                                                                       \
    X(rescale, 0, "io_rescale_factor", "12.24 -44.3", !m->has_rescale,                                                 \
      m->rescale == 12.24 && m->rescale_offset == -44.3, "12.24", "expected a value for offset")                       \
    X(bits, 0, "io_setting_bits", "io_agc 1", m->n_settings == 0, m->settings[0].bits == 1, "io_agc 0",                \
      "bits is 0, allowed 1..16")                                                                                      \
    X(mapping, 756, "io_channel_mapping", "FL FR LFE", m->channel_mapping == 0, m->channel_mapping == 11, "FL FX",     \
      "unknown channel 'FX', expected FL FR FC LFE BL BR ..")                                                          \
    X(again, 776, "io_analog_gain", "{1 0 12 24 }", m->n_settings == 0, set(m, "io_analog_gain", 3, 0, 0), "{1 201}",  \
      "io_analog_gain option 201, allowed -200..200")                                                                  \
    X(dgain, 777, "io_digital_gain", "{-1 -12 1 12 }", m->n_settings == 0, set(m, "io_digital_gain", 25, 0, -12),      \
      "{-1 -12 1}", "a negative index of io_digital_gain is followed by triplets: first step last")                    \
    X(hp, 778, "io_hp_filter", "{1 1 20 50 300 }", m->n_settings == 0, set(m, "io_hp_filter", 4, 0, 1), "{1 -1}",      \
      "io_hp_filter option -1, allowed 0..1e+06")                                                                      \
    X(agc, 0, "io_agc", "{2 0 1}", m->n_settings == 0, set(m, "io_agc", 2, 1, 0), "{1 2}",                             \
      "io_agc option 2, allowed 0..1")                                                                                 \
    X(router, 0, "io_router", "{2 AMIC DMIC LINE}", m->n_settings == 0, set(m, "io_router", 3, 1, 0), "{1 AUX}",       \
      "'AUX' is no value for io_router")                                                                               \
    X(gbass, 0, "io_gbass_filter", "{1 -3 3 6}", m->n_settings == 0, set(m, "io_gbass_filter", 3, 0, -3), "{1 61}",    \
      "io_gbass_filter option 61, allowed -60..60")                                                                    \
    X(fbass, 0, "io_fbass_filter", "{1 20 100 200}", m->n_settings == 0, set(m, "io_fbass_filter", 3, 0, 20),          \
      "{1 -1}", "io_fbass_filter option -1, allowed 0..1e+06")                                                         \
    X(gmid, 0, "io_gmid_filter", "{1 -3 3 6}", m->n_settings == 0, set(m, "io_gmid_filter", 3, 0, -3), "{1 61}",       \
      "io_gmid_filter option 61, allowed -60..60")                                                                     \
    X(fmid, 0, "io_fmid_filter", "{1 500 1000}", m->n_settings == 0, set(m, "io_fmid_filter", 2, 0, 500), "{1 -1}",    \
      "io_fmid_filter option -1, allowed 0..1e+06")                                                                    \
    X(ghigh, 0, "io_ghigh_filter", "{1 -3 3 6}", m->n_settings == 0, set(m, "io_ghigh_filter", 3, 0, -3), "{1 61}",    \
      "io_ghigh_filter option 61, allowed -60..60")                                                                    \
    X(fhigh, 0, "io_fhigh_filter", "{1 4000 8000}", m->n_settings == 0, set(m, "io_fhigh_filter", 2, 0, 4000),         \
      "{1 -1}", "io_fhigh_filter option -1, allowed 0..1e+06")                                                         \
    X(motion, 818, "io_motion_format", "4", m->motion_format == 0, m->motion_format == 4, "0",                         \
      "motion format is 0, allowed 1..7")                                                                              \
    X(sens_acc, 0, "io_motion_sensitivity acc", "1 2 4 8 16", m->n_settings == 0,                                      \
      set(m, "io_motion_sensitivity acc", 4, 0, 2), "-1 1 2",                                                          \
      "a negative index of io_motion_sensitivity acc is followed by triplets: first step last")                        \
    X(sens_gyro, 0, "io_motion_sensitivity gyro", "1 2 4 8 16", m->n_settings == 0,                                    \
      set(m, "io_motion_sensitivity gyro", 4, 0, 2), "-1 1 2",                                                         \
      "a negative index of io_motion_sensitivity gyro is followed by triplets: first step last")                       \
    X(sens_mag, 0, "io_motion_sensitivity mag", "1 2 4 8 16", m->n_settings == 0,                                      \
      set(m, "io_motion_sensitivity mag", 4, 0, 2), "-1 1 2",                                                          \
      "a negative index of io_motion_sensitivity mag is followed by triplets: first step last")                        \
    X(avg_acc, 820, "io_motion_averaging acc", "1 1 4 16 32", m->n_settings == 0,                                      \
      set(m, "io_motion_averaging acc", 4, 0, 1), "{1 0}", "io_motion_averaging acc option 0, allowed 1..65536")       \
    X(avg_gyro, 0, "io_motion_averaging gyro", "1 1 4 16 32", m->n_settings == 0,                                      \
      set(m, "io_motion_averaging gyro", 4, 0, 1), "{1 0}", "io_motion_averaging gyro option 0, allowed 1..65536")     \
    X(avg_mag, 0, "io_motion_averaging mag", "1 1 4 16 32", m->n_settings == 0,                                        \
      set(m, "io_motion_averaging mag", 4, 0, 1), "{1 0}", "io_motion_averaging mag option 0, allowed 1..65536")       \
    X(high_pass, 821, "io_high_pass", "0 /1", m->n_settings == 0, set(m, "io_high_pass", 2, 0, 0), "2",                \
      "io_high_pass is 2, allowed 0..1")                                                                               \
    X(dc, 824, "io_DC-canceller", "1", m->n_settings == 0, set(m, "io_DC-canceller", 2, 1, 0), "2",                    \
      "io_DC-canceller is 2, allowed 0..1")                                                                            \
    X(raw2d, 832, "io_raw_format_2d", "{1 RGB16 GREY}", m->n_settings == 0, set(m, "io_raw_format_2d", 2, 0, 0),       \
      "{1 256}", "io_raw_format_2d option 256, allowed 0..255")                                                        \
    X(flash, 0, "io_trigger_flash", "{1 0 1}", m->n_settings == 0, set(m, "io_trigger_flash", 2, 0, 0), "{1 2}",       \
      "io_trigger_flash option 2, allowed 0..1")                                                                       \
    X(sync, 834, "io_synchronize", "{1 0 1}", m->n_settings == 0, set(m, "io_synchronize", 2, 0, 0), "{1 2}",          \
      "io_synchronize option 2, allowed 0..1")                                                                         \
    X(frame_rate, 0, "io_frame_rate", "{2 15 30}", m->n_settings == 0, set(m, "io_frame_rate", 2, 1, 15), "{1 -1}",    \
      "io_frame_rate option -1, allowed 0..1e+06")                                                                     \
    X(exposure, 835, "io_exposure_time", "{1 0.01 0.02}", m->n_settings == 0, set(m, "io_exposure_time", 2, 0, 0.01),  \
      "{1 -1}", "io_exposure_time option -1, allowed 0..1e+06")                                                        \
    X(size, 835, "io_image_size", "{1 41943520 20971760}", m->n_settings == 0,                                         \
      set(m, "io_image_size", 2, 0, 41943520), "{1 0.5}", "io_image_size option 0.5, allowed 1..4.29497e+09")          \
    X(modes, 852, "io_modes", "{2 portrait night}", m->n_settings == 0, set(m, "io_modes", 2, 1, 0), "{1 256}",        \
      "io_modes option 256, allowed 0..255")                                                                           \
    X(gain, 853, "io_gain", "{1 1 2 4}", m->n_settings == 0, set(m, "io_gain", 3, 0, 1), "{1 -1}",                     \
      "io_gain option -1, allowed 0..1e+06")                                                                           \
    X(temp, 854, "io_WhiteBalanceColorTemp", "{1 2700 6500}", m->n_settings == 0,                                      \
      set(m, "io_WhiteBalanceColorTemp", 2, 0, 2700), "{1 -1}",                                                        \
      "io_WhiteBalanceColorTemp option -1, allowed 0..1e+06")                                                          \
    X(tint, 855, "io_WhiteBalanceColorTint", "{1 -1 0 1}", m->n_settings == 0,                                         \
      set(m, "io_WhiteBalanceColorTint", 3, 0, -1), "{1 1e7}",                                                         \
      "io_WhiteBalanceColorTint option 1e+07, allowed -1e+06..1e+06")                                                  \
    X(mosaic, 856, "io_MosaicPattern", "{1 RGGB GBRG}", m->n_settings == 0, set(m, "io_MosaicPattern", 2, 0, 0),       \
      "{1 256}", "io_MosaicPattern option 256, allowed 0..255")                                                        \
    X(rgb, 857, "io_WhiteBalanceRGBCoefficients", "{1 1.1 1 0.9}", m->n_settings == 0,                                 \
      set(m, "io_WhiteBalanceRGBCoefficients", 3, 0, 1.1), "{1 1e7}",                                                  \
      "io_WhiteBalanceRGBCoefficients option 1e+07, allowed -1e+06..1e+06")                                            \
    X(ergb, 858, "io_EnableWhiteBalanceRGBCoefficients", "{1 0 1}", m->n_settings == 0,                                \
      set(m, "io_EnableWhiteBalanceRGBCoefficients", 2, 0, 0), "{1 2}",                                                \
      "io_EnableWhiteBalanceRGBCoefficients option 2, allowed 0..1")                                                   \
    X(awb, 859, "io_auto_white_balance", "{1 0 1}", m->n_settings == 0, set(m, "io_auto_white_balance", 2, 0, 0),      \
      "{1 2}", "io_auto_white_balance option 2, allowed 0..1")                                                         \
    X(wdr, 862, "io_wdr", "{1 0 1}", m->n_settings == 0, set(m, "io_wdr", 2, 0, 0), "{1 2}",                           \
      "io_wdr option 2, allowed 0..1")                                                                                 \
    X(watermark, 863, "io_watermark", "{1 0 1}", m->n_settings == 0, set(m, "io_watermark", 2, 0, 0), "{1 2}",         \
      "io_watermark option 2, allowed 0..1")                                                                           \
    X(flip, 868, "io_flip", "{1 portrait panoramic}", m->n_settings == 0, set(m, "io_flip", 2, 0, 0), "{1 256}",       \
      "io_flip option 256, allowed 0..255")                                                                            \
    X(night, 869, "io_night_mode", "{3 low medium high}", m->n_settings == 0, set(m, "io_night_mode", 3, 2, 0),        \
      "{1 256}", "io_night_mode option 256, allowed 0..255")                                                           \
    X(zones, 870, "io_detection_zones", "{ 50 50 10 } { 20 20 5 }", tw_io_extra(m, "io_detection_zones") == NULL,      \
      text(m, "io_detection_zones", "{ 50 50 10 } { 20 20 5 }"), "", "")                                               \
    X(focus, 871, "io_focus_area", "50 50", tw_io_extra(m, "io_focus_area") == NULL,                                   \
      text(m, "io_focus_area", "50 50"), "", "")                                                                       \
    X(aexp, 872, "io_auto_exposure", "{1 0 1}", m->n_settings == 0, set(m, "io_auto_exposure", 2, 0, 0), "{1 2}",      \
      "io_auto_exposure option 2, allowed 0..1")                                                                       \
    X(fdist, 873, "io_focus_distance", "{1 1 0.5 3}", m->n_settings == 0, set(m, "io_focus_distance", 3, 0, 1),        \
      "{1 -1}", "io_focus_distance option -1, allowed 0..1e+09")                                                       \
    X(gdist, 875, "io_get_distance", "{1 0 1}", m->n_settings == 0, set(m, "io_get_distance", 2, 0, 0), "{1 2}",       \
      "io_get_distance option 2, allowed 0..1")                                                                        \
    X(zoom, 829, "io_zoom_area", "10 10 80 80", tw_io_extra(m, "io_zoom_area") == NULL,                                \
      text(m, "io_zoom_area", "10 10 80 80"), "", "")                                                                  \
    X(ts2d, 879, "io_time_stamp", "{1 0 1}", m->n_settings == 0, set(m, "io_time_stamp", 2, 0, 0), "{1 4}",            \
      "io_time_stamp option 4, allowed 0..3")                                                                          \
    X(light, 880, "io_light_detection", "{1 10 100}", m->n_settings == 0, set(m, "io_light_detection", 2, 0, 10),      \
      "{1 -1}", "io_light_detection option -1, allowed 0..1e+06")                                                      \
    X(jpeg, 881, "io_jpeg_quality", "{2 50 90}", m->n_settings == 0, set(m, "io_jpeg_quality", 2, 1, 50), "{1 101}",   \
      "io_jpeg_quality option 101, allowed 0..100")                                                                    \
    X(sound, 882, "io_sound_detection", "{1 -60 -40}", m->n_settings == 0, set(m, "io_sound_detection", 2, 0, -60),    \
      "{1 -201}", "io_sound_detection option -201, allowed -200..200")                                                 \
    X(others, 883, "io_other_sensors", "humidity battery", tw_io_extra(m, "io_other_sensors") == NULL,                 \
      text(m, "io_other_sensors", "humidity battery"), "", "")                                                         \
    X(backlight, 891, "io_backlight", "{-1 0 5 255}", m->n_settings == 0, set(m, "io_backlight", 52, 0, 0), "{1 256}", \
      "io_backlight option 256, allowed 0..255")                                                                       \
    X(backend, 0, "io_backend", "wav_in", tw_io_extra(m, "io_backend") == NULL, text(m, "io_backend", "wav_in"), "",   \
      "")                                                                                                              \
    X(file, 0, "io_file", "a.wav", tw_io_extra(m, "io_file") == NULL, text(m, "io_file", "a.wav"), "", "")             \
    X(loop, 0, "io_loop", "1", tw_io_extra(m, "io_loop") == NULL, text(m, "io_loop", "1"), "", "")                     \
    X(a_scale, 0, "io_analogscale", "0.55", m->analog_scale == 0, m->analog_scale == 0.55, "x",                        \
      "expected io_analog_scale (number), found 'x'")                                                                  \
    X(a_accuracy, 801, "io_sampling_accuracy", "0.8", m->accuracy == 0, m->accuracy == 0.8f, "-1",                     \
      "io_sampling_rate_accuracy is -1, allowed 0..100")                                                               \
    X(a_flash, 0, "io_trigger flash", "{1 0 1}", m->n_settings == 0, set(m, "io_trigger_flash", 2, 0, 0), "{1 -1}",    \
      "io_trigger_flash option -1")                                                                                    \
    X(a_sync, 834, "io_synchronize with IR transmitter", "{1 0 1}", m->n_settings == 0,                                \
      set(m, "io_synchronize", 2, 0, 0), "{1 -1}", "io_synchronize option -1")                                         \
    X(a_rate, 0, "io_frame rate", "{1 0 1}", m->n_settings == 0, set(m, "io_frame_rate", 2, 0, 0), "{1 -1}",           \
      "io_frame_rate option -1")                                                                                       \
    X(a_exposure, 835, "io_exposure time", "{1 0 1}", m->n_settings == 0, set(m, "io_exposure_time", 2, 0, 0),         \
      "{1 -1}", "io_exposure_time option -1")                                                                          \
    X(a_size, 835, "io_image size", "{1 41943520 20971760}", m->n_settings == 0,                                       \
      set(m, "io_image_size", 2, 0, 41943520), "{1 0}", "")                                                            \
    X(a_gain, 853, "io_Gain", "{1 0 1}", m->n_settings == 0, set(m, "io_gain", 2, 0, 0), "{1 -1}",                     \
      "io_gain option -1")                                                                                             \
    X(a_awb, 859, "io_Auto White Balance", "{1 0 1}", m->n_settings == 0, set(m, "io_auto_white_balance", 2, 0, 0),    \
      "{1 -1}", "io_auto_white_balance option -1")                                                                     \
    X(a_aexp, 872, "io_auto exposure", "{1 0 1}", m->n_settings == 0, set(m, "io_auto_exposure", 2, 0, 0), "{1 -1}",   \
      "io_auto_exposure option -1")                                                                                    \
    X(a_ts, 861, "io_time-stamp", "{1 0 1}", m->n_settings == 0, set(m, "io_time_stamp", 2, 0, 0), "{1 -1}",           \
      "io_time_stamp option -1")                                                                                       \
    X(a_other, 883, "io_other sensors", "humidity", m->n_settings == 0, text(m, "io_other_sensors", "humidity"), "", "")

#define X(id, line, tag, value, is_default, is_set, bad, says) \
    static bool default_##id(const tw_io_manifest_t *m)        \
    {                                                          \
        return is_default;                                     \
    }                                                          \
    static bool set_##id(const tw_io_manifest_t *m)            \
    {                                                          \
        return is_set;                                         \
    }
CASES(X)
#undef X

static const struct {
    const char *tag, *value, *bad, *says;
    unsigned line;
    bool (*is_default)(const tw_io_manifest_t *m), (*is_set)(const tw_io_manifest_t *m);
} cases[] = {
#define X(id, line, tag, value, is_default, is_set, bad, says) {tag, value, bad, says, line, default_##id, set_##id},
    CASES(X)
#undef X
};

static bool parse_case(size_t i, const char *value)
{
    char line[300];
    const bool bits = strcmp(cases[i].tag, "io_setting_bits") == 0; /* speaks of a set above */
    snprintf(line, sizeof line, "mic\naudio_in\n%s%s %s\n", bits ? "io_agc {1 0 1}\n" : "", cases[i].tag, value);
    return parse_as(line, true);
}

static void every_tag_has_its_default_takes_its_value_and_refuses_a_wrong_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        if (!parse("mic\naudio_in\n") || !cases[i].is_default(&io)) {
            fail_msg("L%u %s: not the default", cases[i].line, cases[i].tag);
        }
        if (!parse_case(i, cases[i].value) || !cases[i].is_set(&io)) {
            fail_msg("L%u %s: not the value: %s", cases[i].line, cases[i].tag, d.rows[0].text);
        }
        if (cases[i].bad[0] == 0 && cases[i].says[0] == 0) {
            continue; /* any words are right */
        }
        if (parse_case(i, cases[i].bad) || strncmp(d.rows[0].text, cases[i].says, strlen(cases[i].says)) != 0) {
            fail_msg("L%u %s: %s", cases[i].line, cases[i].tag, d.rows[0].text);
        }
    }
}

static void no_row_of_the_table_is_without_a_case(void **state)
{
    (void)state;
    static const char *const tags[] = {
#define TW_IO_FIELD(tag, field, lo, hi, dflt, text) #tag,
#define TW_IO_CALL(tag, reader, args, dflt, text) #tag,
#define TW_IO_SET(tag, names, lo, hi, unit, dflt, text) tag,
#define TW_IO_SWITCH(tag, text) tag,
#define TW_IO_PROSE(tag, names, lo, hi, unit, dflt, text) tag,
#define TW_IO_TEXT(tag, args, dflt, text) tag,
#define TW_IO_ALIAS(alias, tag) alias,
#include "engine/board/manifest_tags.def"
    };
    for (size_t i = 0; i < TW_COUNT(tags); i++) {
        bool found = false;
        for (size_t k = 0; k < TW_COUNT(cases); k++) {
            found |= strcmp(tags[i], cases[k].tag) == 0;
        }
        if (!found) {
            fail_msg("%s has no case", tags[i]);
        }
    }
    assert_int_equal(TW_COUNT(tags), TW_COUNT(cases));
}

static void settings_have_the_units_of_their_rows(void **state)
{
    (void)state;
    static const struct {
        const char *tag, *unit; /* NULL: none */
    } rows[] = {
#define TW_IO_SET(tag, names, lo, hi, unit, dflt, text) {tag, unit},
#define TW_IO_PROSE(tag, names, lo, hi, unit, dflt, text) {tag, unit},
#include "engine/board/manifest_tags.def"
    };
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char line[200];
        snprintf(line, sizeof line, "x\ngeneral\n%s {1 1}\n", rows[i].tag);
        assert_true(parse(line));
        const int code = tw_unit_find(rows[i].unit, strlen(rows[i].unit));
        if (io.settings[0].unit != (code > 0 ? code : 0) || (rows[i].unit[0] != 0 && code <= 0)) {
            fail_msg("%s is in unit %u", rows[i].tag, io.settings[0].unit);
        }
    }
}

/* ---- option sets ---------------------------------------------------------------------------- */

/* "{X} <=> {1 X} <=> X" */
static void test_S0_L661_one_value_needs_no_braces_and_no_index(void **state)
{
    (void)state;
    static const char *const same[] = {"io_nb_channels 5\n", "io_nb_channels {5}\n", "io_nb_channels {1 5}\n"};
    for (size_t i = 0; i < TW_COUNT(same); i++) {
        char line[100];
        snprintf(line, sizeof line, "x\naudio_in\n%s", same[i]);
        assert_true(parse(line) && is(&io.channels, 1, 0, 5));
    }
}

/* "when index == 0 it means any, the list can be empty" */
static void test_S0_L663_index_zero_is_any(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_nb_channels {0}\n") && io.channels.any && io.channels.n == 0);
    assert_true(parse("x\naudio_in\nio_nb_channels {}\n") && io.channels.any);
    assert_true(parse("x\naudio_in\nio_nb_channels {0 1 2}\n") && io.channels.any && io.channels.n == 2);
}

/* "the absolute index value selects the default in this range": it counts across all triplets, from 1. */
static void test_S0_L672_the_default_counts_across_triplets(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_sampling_rate {-4 2 2 6 10 5 20}\n") && is(&io.rate_hz, 6, 3, 2));
    assert_true(io.rate_hz.v[io.rate_hz.def] == 10 && io.rate_hz.v[5] == 20);
    assert_false(parse("x\naudio_in\nio_sampling_rate {-7 2 2 6 10 5 20}\n"));
    assert_string_equal(d.rows[0].text, "default entry 7 of sampling rate, but there are 6");
}

/* "C is the included maximum": 0.1 + 0.1 + 0.1 reaches 0.3. */
static void test_S0_L671_the_last_value_is_included(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_sampling_period_s {-1 0.1 0.1 0.3}\n"));
    assert_int_equal(io.period_s.n, 3);
}

/* ON(1)/OFF(0) "followed by" frequencies, inside one list: values as any others. */
static void test_S0_L778_the_filter_list_begins_with_on(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_hp_filter {1 1 20 50 300}\n"));
    assert_true(set(&io, "io_hp_filter", 4, 0, 1) && io.settings[0].o.v[3] == 300);
}

/* The brace is lost in the seed's line, and its comment wants an interleaving first: an option set like all. */
static void test_S0_L786_a_lost_brace_is_a_warning(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_out\nio_nb_channels {1 1 1 2\n") && is(&io.channels, 3, 0, 1));
    assert_true(d.n == 1 && d.rows[0].warning);
    assert_string_equal(d.rows[0].text, "'{' without '}'");
}

/* "io_interleaving 1" is explained the wrong way round beside it: 0 interleaved, 1 a block per channel. */
static void test_S0_L721_interleaving_one_is_a_block_per_channel(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_interleaving 1\n") && io.interleaving == 1);
    assert_true(parse("x\naudio_in\nio_nb_channels 1 {1 1 2}\n") && io.interleaving == 1 && io.channels.n == 2);
}

/* ---- tags and text ----------------------------------------------------------------------------- */

/* ~35 camera tags stand there without a syntax: prose is kept, an option set is typed. */
static void test_S0_L832_prose_of_the_camera_is_kept(void **state)
{
    (void)state;
    assert_true(parse_as("cam\n2d_in\nio_exposure time The amount of time in seconds.\nio_modes portrait, landscape\n"
                         "io_time-stamp (none)\nio_wdr; wide dynamic range\nio_raw_format_2d (U16 + RGB16)\n",
                         true));
    assert_true(text(&io, "io_exposure_time", "The amount of time in seconds."));
    assert_true(text(&io, "io_time_stamp", "(none)") && text(&io, "io_wdr", ""));
    assert_true(text(&io, "io_raw_format_2d", "(U16 + RGB16)"));
    assert_true(text(&io, "io_modes", "portrait landscape"));
}

static void unknown_tags_are_kept_and_fail_under_strict(void **state)
{
    (void)state;
    assert_true(parse("x\nplatform_1\nacme\n") == false);
    assert_true(parse("x\nplatform_1\nio_acme_laser 1 2 {3}\n") && d.n == 0);
    assert_true(text(&io, "io_acme_laser", "1 2 { 3 }"));
    assert_true(parse("x\naudio_in\nio_sampling_rat 8000\n") && d.n == 1 && d.rows[0].warning);
    assert_string_equal(
        d.rows[0].text,
        "unknown IO manifest tag 'io_sampling_rat', did you mean 'io_sampling_rate'? It is kept as text");
    assert_false(parse_as("x\nplatform_1\nio_acme_laser 1\n", true));
    assert_string_equal(d.rows[0].text, "unknown IO manifest tag 'io_acme_laser'");
    assert_false(parse_as("x\nplatform_1\nio_sampling_rat 1\n", true));
    assert_string_equal(d.rows[0].text, "unknown IO manifest tag 'io_sampling_rat', did you mean 'io_sampling_rate'?");
}

static void a_set_given_twice_counts_as_the_later(void **state)
{
    (void)state;
    assert_true(parse("x\naudio_in\nio_nb_channels {1 1 2}\nio_agc {1 0 1}\nio_nb_channels {1 4}\n"));
    assert_true(io.n_settings == 2 && set(&io, "io_nb_channels", 1, 0, 4) && io.channels.v[0] == 4);
}

/* All 16 domains, and what a name ending in _out says of the direction. */
static void test_S0_L680_every_domain_is_read(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TW_DOMAIN_COUNT; i++) {
        char line[100];
        const char *name = tw_domain_text(i);
        snprintf(line, sizeof line, "x\n%s\n", name);
        assert_true(parse(line));
        assert_int_equal(io.domain, i);
        assert_int_equal(io.direction, strstr(name, "_out") != NULL);
    }
}

static void later_manifests_name_the_unit_and_the_type(void **state)
{
    (void)state;
    assert_true(
        parse("mic\naudio_in\nio_frame_length {1 640}\nio_raw_format {1 i16}\nio_sampling_rate Hz {1 16e3}\nend\n"));
    assert_true(io.raw == TW_RAW_S16 && is(&io.rate_hz, 1, 0, 16000));
}

/* ---- public manifests -------------------------------------------------------------------------- */

#define TEMPLATE "../shared/corpus/graphs/GRAPH_INTERPRETER@cc81572_2024-05-23/stream_doc/IoManifestTemplate.txt"

/* It lists the tags of every domain one after the other, then definitions that are no manifest. */
static void the_public_template_is_read_up_to_its_definitions(void **state)
{
    (void)state;
    size_t n = 0;
    char *whole = tw_text_files.read(NULL, TEMPLATE, &n);
    if (whole == NULL) {
        print_message("no %s here: public template not tried\n", TEMPLATE);
        skip();
    }
    tw_text_t t;
    d = (tw_diags_t){0};
    tw_text_open(&t, TEMPLATE, whole, n, &d);
    (void)tw_io_manifest_parse(&io, &t);
    free(whole);
    for (unsigned i = 0; i < d.n; i++) { /* lines that are no tags, and nothing else */
        if (!d.rows[i].warning && strstr(d.rows[i].text, "expected a tag io_...") == NULL) {
            fail_msg("%u:%u %s", d.rows[i].line, d.rows[i].col, d.rows[i].text);
        }
    }
    assert_true(set(&io, "io_motion_sensitivity gyro", 4, 0, 2) && set(&io, "io_fhigh_filter", 2, 0, 4000));
    assert_non_null(tw_io_extra(&io, "io_gain"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tag_has_its_default_takes_its_value_and_refuses_a_wrong_one),
        cmocka_unit_test(no_row_of_the_table_is_without_a_case),
        cmocka_unit_test(settings_have_the_units_of_their_rows),
        cmocka_unit_test(test_S0_L661_one_value_needs_no_braces_and_no_index),
        cmocka_unit_test(test_S0_L663_index_zero_is_any),
        cmocka_unit_test(test_S0_L672_the_default_counts_across_triplets),
        cmocka_unit_test(test_S0_L671_the_last_value_is_included),
        cmocka_unit_test(test_S0_L778_the_filter_list_begins_with_on),
        cmocka_unit_test(test_S0_L786_a_lost_brace_is_a_warning),
        cmocka_unit_test(test_S0_L721_interleaving_one_is_a_block_per_channel),
        cmocka_unit_test(test_S0_L832_prose_of_the_camera_is_kept),
        cmocka_unit_test(unknown_tags_are_kept_and_fail_under_strict),
        cmocka_unit_test(a_set_given_twice_counts_as_the_later),
        cmocka_unit_test(test_S0_L680_every_domain_is_read),
        cmocka_unit_test(later_manifests_name_the_unit_and_the_type),
        cmocka_unit_test(the_public_template_is_read_up_to_its_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
