/* The 107 units: codes, texts, the seeds' words, exact conversions, what does not convert. */
#include "engine/base/bytes.h"
#include "engine/base/units.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Kept beside units.def: a code, a text or a factor that changes there is seen here. */
static const struct {
    unsigned line; /* of seed 000, 0 not there */
    uint32_t code;
    const char *text, *name, *primary;
    uint32_t num, den;
    int offset;
    tw_unit_kind_t kind;
} units[] = {
    /* clang-format off */
    {1015, 0, "any", "ANY", "any", 1, 1, 0, TW_UNIT_EXACT},
    {1018, 1, "m", "METER", "m", 1, 1, 0, TW_UNIT_EXACT},
    {1021, 2, "kg", "KGRAM", "kg", 1, 1, 0, TW_UNIT_EXACT},
    {1024, 3, "g", "GRAM", "g", 1, 1, 0, TW_UNIT_EXACT},
    {1069, 4, "s", "SECOND", "s", 1, 1, 0, TW_UNIT_EXACT},
    {1030, 5, "A", "AMPERE", "A", 1, 1, 0, TW_UNIT_EXACT},
    {1033, 6, "K", "KELVIB", "K", 1, 1, 0, TW_UNIT_EXACT},
    {1036, 7, "cd", "CANDELA", "cd", 1, 1, 0, TW_UNIT_EXACT},
    {1076, 8, "mol", "MOLE", "mol", 1, 1, 0, TW_UNIT_EXACT},
    {1039, 9, "Hz", "HERTZ", "Hz", 1, 1, 0, TW_UNIT_EXACT},
    {1045, 10, "rad", "RADIAN", "rad", 1, 1, 0, TW_UNIT_EXACT},
    {1081, 11, "sr", "STERADIAN", "sr", 1, 1, 0, TW_UNIT_EXACT},
    {1051, 12, "N", "NEWTON", "N", 1, 1, 0, TW_UNIT_EXACT},
    {1054, 13, "Pa", "PASCAL", "Pa", 1, 1, 0, TW_UNIT_EXACT},
    {1057, 14, "J", "JOULE", "J", 1, 1, 0, TW_UNIT_EXACT},
    {1060, 15, "W", "WATT", "W", 1, 1, 0, TW_UNIT_EXACT},
    {1063, 16, "C", "COULOMB", "C", 1, 1, 0, TW_UNIT_EXACT},
    {1090, 17, "V", "VOLT", "V", 1, 1, 0, TW_UNIT_EXACT},
    {1091, 18, "F", "FARAD", "F", 1, 1, 0, TW_UNIT_EXACT},
    {1092, 19, "Ohm", "OHM", "Ohm", 1, 1, 0, TW_UNIT_EXACT},
    {1093, 20, "S", "SIEMENS", "S", 1, 1, 0, TW_UNIT_EXACT},
    {1106, 21, "Wb", "WEBER", "Wb", 1, 1, 0, TW_UNIT_EXACT},
    {1107, 22, "T", "TESLA", "T", 1, 1, 0, TW_UNIT_EXACT},
    {1113, 23, "H", "HENRY", "H", 1, 1, 0, TW_UNIT_EXACT},
    {1114, 24, "Cel", "CELSIUSDEG", "Cel", 1, 1, 0, TW_UNIT_EXACT},
    {1115, 25, "lm", "LUMEN", "lm", 1, 1, 0, TW_UNIT_EXACT},
    {1138, 26, "lx", "LUX", "lx", 1, 1, 0, TW_UNIT_EXACT},
    {1117, 27, "Bq", "BQ", "Bq", 1, 1, 0, TW_UNIT_EXACT},
    {1118, 28, "Gy", "GRAY", "Gy", 1, 1, 0, TW_UNIT_EXACT},
    {1144, 29, "Sv", "SIVERT", "Sv", 1, 1, 0, TW_UNIT_EXACT},
    {1120, 30, "kat", "KATAL", "kat", 1, 1, 0, TW_UNIT_EXACT},
    {1150, 31, "m2", "METERSQUARE", "m2", 1, 1, 0, TW_UNIT_EXACT},
    {1123, 32, "m3", "CUBICMETER", "m3", 1, 1, 0, TW_UNIT_EXACT},
    {1125, 33, "l", "LITER", "l", 1, 1, 0, TW_UNIT_EXACT},
    {1153, 34, "m/s", "M_PER_S", "m/s", 1, 1, 0, TW_UNIT_EXACT},
    {1170, 35, "m/s2", "M_PER_S2", "m/s2", 1, 1, 0, TW_UNIT_EXACT},
    {1173, 36, "m3/s", "M3_PER_S", "m3/s", 1, 1, 0, TW_UNIT_EXACT},
    {1162, 37, "l/s", "L_PER_S", "l/s", 1, 1, 0, TW_UNIT_EXACT},
    {1176, 38, "W/m2", "W_PER_M2", "W/m2", 1, 1, 0, TW_UNIT_EXACT},
    {1177, 39, "cd/m2", "CD_PER_M2", "cd/m2", 1, 1, 0, TW_UNIT_EXACT},
    {1153, 40, "bit", "BIT", "bit", 1, 1, 0, TW_UNIT_EXACT},
    {1153, 41, "bit/s", "BIT_PER_S", "bit/s", 1, 1, 0, TW_UNIT_EXACT},
    {1153, 42, "lat", "LATITUDE", "lat", 1, 1, 0, TW_UNIT_EXACT},
    {1186, 43, "lon", "LONGITUDE", "lon", 1, 1, 0, TW_UNIT_EXACT},
    {1192, 44, "pH", "PH", "pH", 1, 1, 0, TW_UNIT_LOG},
    {1196, 45, "dB", "DB", "dB", 1, 1, 0, TW_UNIT_LOG},
    {1197, 46, "dBW", "DBW", "dBW", 1, 1, 0, TW_UNIT_LOG},
    {1198, 47, "Bspl", "BSPL", "Bspl", 1, 1, 0, TW_UNIT_LOG},
    {1199, 48, "count", "COUNT", "count", 1, 1, 0, TW_UNIT_EXACT},
    {1200, 49, "/", "PER", "/", 1, 1, 0, TW_UNIT_EXACT},
    {1201, 50, "%", "PERCENT", "%", 1, 1, 0, TW_UNIT_EXACT},
    {1202, 51, "%RH", "PERCENTRH", "%RH", 1, 1, 0, TW_UNIT_EXACT},
    {1220, 52, "%EL", "PERCENTEL", "%EL", 1, 1, 0, TW_UNIT_EXACT},
    {1221, 53, "EL", "ENERGYLEVEL", "EL", 1, 1, 0, TW_UNIT_EXACT},
    {1249, 54, "1/s", "1_PER_S", "1/s", 1, 1, 0, TW_UNIT_EXACT},
    {1251, 55, "1/min", "1_PER_MIN", "1/min", 1, 1, 0, TW_UNIT_EXACT},
    {1252, 56, "beat/min", "BEAT_PER_MIN", "beat/min", 1, 1, 0, TW_UNIT_EXACT},
    {1253, 57, "beats", "BEATS", "beats", 1, 1, 0, TW_UNIT_EXACT},
    {1254, 58, "S/m", "SIEMPERMETER", "S/m", 1, 1, 0, TW_UNIT_EXACT},
    {1260, 59, "B", "BYTE", "B", 1, 1, 0, TW_UNIT_EXACT},
    {1261, 60, "VA", "VOLTAMPERE", "VA", 1, 1, 0, TW_UNIT_EXACT},
    {1262, 61, "VAs", "VOLTAMPERESEC", "VAs", 1, 1, 0, TW_UNIT_EXACT},
    {1263, 62, "var", "VAREACTIVE", "var", 1, 1, 0, TW_UNIT_EXACT},
    {1264, 63, "vars", "VAREACTIVESEC", "vars", 1, 1, 0, TW_UNIT_EXACT},
    {1265, 64, "J/m", "JOULE_PER_M", "J/m", 1, 1, 0, TW_UNIT_EXACT},
    {1267, 65, "kg/m3", "KG_PER_M3", "kg/m3", 1, 1, 0, TW_UNIT_EXACT},
    {1275, 66, "deg", "DEGREE", "deg", 1, 1, 0, TW_UNIT_EXACT},
    {1275, 67, "NTU", "NTU", "NTU", 1, 1, 0, TW_UNIT_EXACT},
    {1283, 68, "ms", "MS", "s", 1, 1000, 0, TW_UNIT_EXACT},
    {1284, 69, "min", "MIN", "s", 60, 1, 0, TW_UNIT_EXACT},
    {1285, 70, "h", "H", "s", 3600, 1, 0, TW_UNIT_EXACT},
    {1298, 71, "MHz", "MHZ", "Hz", 1000000, 1, 0, TW_UNIT_EXACT},
    {1299, 72, "kW", "KW", "W", 1000, 1, 0, TW_UNIT_EXACT},
    {1316, 73, "kVA", "KVA", "VA", 1000, 1, 0, TW_UNIT_EXACT},
    {1301, 74, "kvar", "KVAR", "var", 1000, 1, 0, TW_UNIT_EXACT},
    {1302, 75, "Ah", "AH", "C", 3600, 1, 0, TW_UNIT_EXACT},
    {1303, 76, "Wh", "WH", "J", 3600, 1, 0, TW_UNIT_EXACT},
    {1332, 77, "kWh", "KWH", "J", 3600000, 1, 0, TW_UNIT_EXACT},
    {1307, 78, "varh", "VARH", "vars", 3600, 1, 0, TW_UNIT_EXACT},
    {1309, 79, "kvarh", "KVARH", "vars", 3600000, 1, 0, TW_UNIT_EXACT},
    {1360, 80, "kVAh", "KVAH", "VAs", 3600000, 1, 0, TW_UNIT_EXACT},
    {1365, 81, "Wh/km", "WH_PER_KM", "J/m", 18, 5, 0, TW_UNIT_EXACT},
    {1342, 82, "KiB", "KIB", "B", 1024, 1, 0, TW_UNIT_EXACT},
    {1344, 83, "GB", "GB", "B", 1000000000, 1, 0, TW_UNIT_EXACT},
    {1372, 84, "Mbit/s", "MBIT_PER_S", "bit/s", 1000000, 1, 0, TW_UNIT_EXACT},
    {1345, 85, "B/s", "B_PER_S", "bit/s", 8, 1, 0, TW_UNIT_EXACT},
    {1346, 86, "MB/s", "MB_PER_S", "bit/s", 8000000, 1, 0, TW_UNIT_EXACT},
    {1376, 87, "mV", "MV", "V", 1, 1000, 0, TW_UNIT_EXACT},
    {1349, 88, "mA", "MA", "A", 1, 1000, 0, TW_UNIT_EXACT},
    {1387, 89, "dBm", "DBM", "dBW", 1, 1, -30, TW_UNIT_LOG},
    {1393, 90, "ug/m3", "UG_PER_M3", "kg/m3", 1, 1000000000, 0, TW_UNIT_EXACT},
    {1393, 91, "mm/h", "MM_PER_H", "m/s", 1, 3600000, 0, TW_UNIT_EXACT},
    {1399, 92, "m/h", "M_PER_H", "m/s", 1, 3600, 0, TW_UNIT_EXACT},
    {1400, 93, "ppm", "PPM", "/", 1, 1000000, 0, TW_UNIT_EXACT},
    {1407, 94, "/100", "PER_100", "/", 1, 100, 0, TW_UNIT_EXACT},
    {1408, 95, "/1000", "PER_1000", "/", 1, 1000, 0, TW_UNIT_EXACT},
    {1414, 96, "hPa", "HPA", "Pa", 100, 1, 0, TW_UNIT_EXACT},
    {1416, 97, "mm", "MM", "m", 1, 1000, 0, TW_UNIT_EXACT},
    {1417, 98, "cm", "CM", "m", 1, 100, 0, TW_UNIT_EXACT},
    {1421, 99, "km", "KM", "m", 1000, 1, 0, TW_UNIT_EXACT},
    {1422, 100, "km/h", "KM_PER_H", "m/s", 5, 18, 0, TW_UNIT_EXACT},
    {1423, 101, "gravity", "GRAVITY", "m/s2", 980665, 100000, 0, TW_UNIT_EXACT},
    {1437, 102, "dps", "DPS", "1/s", 1, 360, 0, TW_UNIT_EXACT},
    {1438, 103, "Gauss", "GAUSS", "T", 1, 10000, 0, TW_UNIT_EXACT},
    {1453, 104, "Vrms", "VRMS", "V", 1855077841, 1311738121, 0, TW_UNIT_APPROX},
    {1440, 105, "mV/Gauss", "MVPGAUSS", "mV/Gauss", 1, 1, 0, TW_UNIT_EXACT},
    {0, 106, "dBSPL", "DBSPL", "Bspl", 1, 10, 0, TW_UNIT_LOG},
    /* clang-format on */
};

static void test_S0_L1012_units_are_the_seeds_106_and_one(void **state)
{
    (void)state;
    assert_int_equal(TW_COUNT(units), TW_UNIT_COUNT);
    assert_int_equal(TW_UNIT_COUNT, 107);
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        const tw_unit_scale_t *s = tw_unit_scale(units[i].code);
        const char *text = tw_unit_text(units[i].code);
        if (units[i].code != i || strcmp(text, units[i].text) != 0 || s->num != units[i].num ||
            s->den != units[i].den || s->offset != units[i].offset || s->kind != units[i].kind ||
            strcmp(tw_unit_text(s->primary), units[i].primary) != 0) {
            fail_msg("S0 L%u: unit %u is %s = %s * %u / %u + %d", units[i].line, units[i].code, text,
                     tw_unit_text(s->primary), s->num, s->den, s->offset);
        }
        assert_int_equal(tw_unit_find(text, strlen(text)), i);
        assert_int_equal(tw_unit_find_name(text, strlen(text)), i);
        assert_int_equal(tw_unit_scale(s->primary)->primary, s->primary); /* a primary unit names itself */
    }
    assert_null(tw_unit_scale(TW_UNIT_COUNT));
    assert_null(tw_unit_text(TW_UNIT_COUNT));
}

/* "VRMS" and 104, "DPS GAUSS", "meter": the seeds' words are as good as the texts. */
static void test_S0_L725_units_are_known_by_the_seeds_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(units); i++) {
        if (tw_unit_find(units[i].name, strlen(units[i].name)) < 0) { /* texts come first: "H" is the henry */
            assert_int_equal(tw_unit_find_name(units[i].name, strlen(units[i].name)), i);
        }
    }
    static const struct {
        const char *text;
        int code;
    } words[] = {
        {"VRMS", 104}, {"DPS", 102}, {"GAUSS", 103}, {"meter", 1},  {"gauss", 103}, {"STREAM_SUBT_ANA_VRMS", 104},
        {"H", 23},     {"h", 70},    {"S", 20},      {"s", 4},      {"MS", 68},     {"ms", 68},
        {"mm", 97},    {"Mm", -1},   {"dps", 102},   {"Meter", -1}, {"", -1},       {"metre", -1},
    };
    for (size_t i = 0; i < TW_COUNT(words); i++) {
        if (tw_unit_find_name(words[i].text, strlen(words[i].text)) != words[i].code) {
            fail_msg("%s is %d", words[i].text, tw_unit_find_name(words[i].text, strlen(words[i].text)));
        }
    }
}

/* ---- conversions -------------------------------------------------------------------- */

static tw_err_t exact(const char *from, const char *to, int64_t num, int64_t den, tw_ratio_t *out)
{
    const int f = tw_unit_find(from, strlen(from)), t = tw_unit_find(to, strlen(to));
    assert_true(f >= 0 && t >= 0);
    return tw_unit_convert_exact((uint32_t)f, (uint32_t)t, (tw_ratio_t){num, den}, out);
}

static void conversions_are_exact_rationals(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int64_t num, den, to_num, to_den;
    } cases[] = {
        {"ms", "s", 1, 1, 1, 1000},
        {"h", "min", 1, 1, 60, 1},
        {"km/h", "m/s", 1, 1, 5, 18},
        {"m/s", "km/h", 1, 3, 6, 5},
        {"mm/h", "m/s", 1, 1, 1, 3600000},
        {"mm/h", "km/h", 1, 1, 1, 1000000},
        {"Wh/km", "J/m", 1, 1, 18, 5},
        {"KiB", "GB", 1, 1, 16, 15625000},
        {"MB/s", "Mbit/s", 1, 1, 8, 1},
        {"dBm", "dBW", 30, 1, 0, 1},
        {"dBW", "dBm", -3, 2, 57, 2},
        {"dBSPL", "Bspl", 94, 1, 47, 5},
        {"gravity", "m/s2", 1, 1, 196133, 20000},
        {"ug/m3", "kg/m3", 1, 1, 1, 1000000000},
        {"ppm", "/100", 1, 1, 1, 10000},
        {"/1000", "ppm", 5, 2, 2500, 1},
        {"kvarh", "varh", 1, 1, 1000, 1},
        {"any", "any", 7, 14, 1, 2},
        {"mV/Gauss", "mV/Gauss", -4, 2, -2, 1},
        {"ms", "h", -3600000, 1, -1, 1},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_ratio_t out;
        if (exact(cases[i].from, cases[i].to, cases[i].num, cases[i].den, &out) != TW_OK ||
            (__int128)out.num * cases[i].to_den != (__int128)cases[i].to_num * out.den) {
            fail_msg("%s to %s: %lld/%lld", cases[i].from, cases[i].to, (long long)out.num, (long long)out.den);
        }
    }
}

/* Every unit to every other of its quantity and back gives the number itself; doubles agree with the rational. */
static void every_pair_converts_there_and_back(void **state)
{
    (void)state;
    unsigned pairs = 0;
    for (uint32_t f = 0; f < TW_UNIT_COUNT; f++) {
        for (uint32_t t = 0; t < TW_UNIT_COUNT; t++) {
            const bool same = tw_unit_scale(f)->primary == tw_unit_scale(t)->primary;
            tw_ratio_t there, back;
            double d;
            const tw_err_t err = tw_unit_convert_exact(f, t, (tw_ratio_t){25, 2}, &there);
            assert_int_equal(err, same ? TW_OK : TW_E_UNSUPPORTED);
            assert_int_equal(tw_unit_convert_f64(f, t, 12.5, &d), err);
            if (same) {
                assert_int_equal(tw_unit_convert_exact(t, f, there, &back), TW_OK);
                assert_true(back.num == 25 && back.den == 2);
                const double want = (double)there.num / (double)there.den;
                assert_true(fabs(d - want) <= 4e-16 * fabs(want));
                pairs++;
            }
        }
    }
    assert_true(pairs > TW_UNIT_COUNT);
}

/* The scale column says 360, the formula 1/360: a turn a second is 360 degrees a second. */
static void test_S0_L1442_a_dps_is_a_360th_of_a_turn(void **state)
{
    (void)state;
    tw_ratio_t out;
    assert_int_equal(exact("dps", "1/s", 360, 1, &out), TW_OK);
    assert_true(out.num == 1 && out.den == 1);
}

/* 9.81 in the seed; the standard gravity is exact. */
static void test_S0_L1423_gravity_is_the_standard_one(void **state)
{
    (void)state;
    double v;
    assert_int_equal(tw_unit_convert_f64(101, 35, 1, &v), TW_OK);
    assert_true(fabs(v - 9.80665) < 1e-15);
}

/* Vrms is 0.707 of the peak, of a sine only: sqrt(2) back to volts, flagged as what it is. */
static void test_S0_L1446_vrms_is_of_a_sine_and_approximate(void **state)
{
    (void)state;
    double v;
    assert_int_equal(tw_unit_convert_f64(17, 104, 1, &v), TW_OK);
    assert_true(fabs(v - sqrt(0.5)) < 1e-15);
    assert_int_equal(tw_unit_convert_kind(104, 17), TW_UNIT_APPROX);
    assert_int_equal(tw_unit_convert_kind(104, 87), TW_UNIT_APPROX);
    assert_int_equal(tw_unit_convert_kind(104, 104), TW_UNIT_EXACT);
    assert_int_equal(tw_unit_convert_kind(87, 17), TW_UNIT_EXACT);
}

/* 0 dBm = -30 dBW: an offset of a logarithm. */
static void test_S0_L1391_dbm_is_an_offset_of_a_logarithm(void **state)
{
    (void)state;
    double v;
    assert_int_equal(tw_unit_convert_f64(89, 46, 0, &v), TW_OK);
    assert_true(v == -30);
    assert_int_equal(tw_unit_convert_kind(89, 46), TW_UNIT_LOG);
}

static void what_cannot_be_converted_is_refused(void **state)
{
    (void)state;
    tw_ratio_t out = {3, 4};
    double v = 5;
    assert_int_equal(exact("s", "Hz", 1, 1, &out), TW_E_UNSUPPORTED);
    assert_int_equal(exact("any", "V", 1, 1, &out), TW_E_UNSUPPORTED);
    assert_int_equal(exact("kg", "g", 1, 1, &out), TW_E_UNSUPPORTED); /* two units of the first RFC */
    assert_int_equal(exact("m", "m", 1, 0, &out), TW_E_ARG);
    assert_int_equal(exact("m", "m", 1, -2, &out), TW_E_ARG);
    assert_int_equal(tw_unit_convert_exact(TW_UNIT_COUNT, 1, (tw_ratio_t){1, 1}, &out), TW_E_ARG);
    assert_int_equal(tw_unit_convert_f64(1, TW_UNIT_COUNT, 1, &v), TW_E_ARG);
    assert_int_equal(exact("km", "mm", INT64_MAX, 1, &out), TW_E_RANGE);
    assert_int_equal(exact("dBm", "dBW", INT64_MIN, 1, &out), TW_E_RANGE);
    assert_int_equal(exact("mm/h", "m/s", 1, INT64_MAX, &out), TW_E_RANGE);
    assert_true(out.num == 3 && out.den == 4 && v == 5);
    /* what fits reduced is not refused for its steps */
    assert_int_equal(exact("km", "m", INT64_MAX / 1000, 1, &out), TW_OK);
    assert_int_equal(exact("km", "cm", 1, 100000, &out), TW_OK);
    assert_true(out.num == 1 && out.den == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L1012_units_are_the_seeds_106_and_one),
        cmocka_unit_test(test_S0_L725_units_are_known_by_the_seeds_words),
        cmocka_unit_test(conversions_are_exact_rationals),
        cmocka_unit_test(every_pair_converts_there_and_back),
        cmocka_unit_test(test_S0_L1442_a_dps_is_a_360th_of_a_turn),
        cmocka_unit_test(test_S0_L1423_gravity_is_the_standard_one),
        cmocka_unit_test(test_S0_L1446_vrms_is_of_a_sine_and_approximate),
        cmocka_unit_test(test_S0_L1391_dbm_is_an_offset_of_a_logarithm),
        cmocka_unit_test(what_cannot_be_converted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
