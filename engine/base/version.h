/* version.h - of the software: CHANGELOG.md says what is in it. Wire, image and scripts have their own. */
#pragma once

#define TW_VERSION "0.4.0"
