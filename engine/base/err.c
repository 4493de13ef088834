#include "engine/base/err.h"

static const struct {
    int16_t err;
    uint8_t status;
    const char *name;
    const char *text;
} rows[] = {
#define TW_ERR(code, NAME, STATUS, text) {-(code), TW_ST_##STATUS, #NAME, text},
#include "engine/base/errors.def"
};

static int find(tw_err_t err)
{
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        if (rows[i].err == (int)err) {
            return (int)i;
        }
    }
    return -1;
}

const char *tw_err_text(tw_err_t err)
{
    const int i = find(err);
    return err == TW_OK ? "ok" : i < 0 ? "unknown error" : rows[i].text;
}

const char *tw_err_name(tw_err_t err)
{
    const int i = find(err);
    return err == TW_OK ? "OK" : i < 0 ? "UNKNOWN" : rows[i].name;
}

tw_status_t tw_err_status(tw_err_t err)
{
    const int i = find(err);
    return err == TW_OK ? TW_ST_OK : i < 0 ? TW_ST_UNKNOWN : (tw_status_t)rows[i].status;
}

const char *tw_status_name(uint32_t status)
{
    static const char *const names[] = {
#define TW_STATUS(code, NAME) [code] = #NAME,
#include "engine/base/status.def"
    };
    return status < TW_COUNT(names) ? names[status] : "?";
}
