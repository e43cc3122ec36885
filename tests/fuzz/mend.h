/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.h - checksums made right after a change, so that what is behind their
 * verification is reached.
 */
#ifndef FUZZ_MEND_H
#define FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

/* Those of a Bloscpack file (behind each chunk, and of the metadata), or the
 * CRC-32 of the stored members of a ZIP file, in place. Other bytes, and files
 * that are not found to be one, stay as they are. */
void mend_sums(uint8_t *data, size_t len);

#endif
