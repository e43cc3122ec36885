/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * told.h - what a diagnosis says, beside the place that it carries.
 */
#ifndef TEST_TOLD_H
#define TEST_TOLD_H

#include "bloscfs.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a text says why alone: who prints it adds its chunk (where that is
 * not below 0) and byte, so these are not in it, nor is one phrase twice in a
 * row before colons. */
bool told_once(const char *text, int64_t chunk, uint64_t off);
/* Fails a test where it does not, or says nothing. */
void expect_told(const struct bloscfs_diag *why);

#endif
