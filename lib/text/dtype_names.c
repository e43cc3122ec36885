/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_names.c - the names and letters that NumPy knows for simple types,
 * with the sizes that they have on 64-bit Linux.
 */
#include "base/bytes.h"
#include "text/dtype_text.h"

#include <string.h>

struct name {
	const char *text;
	char kind;
	uint8_t size;	/* bytes; of S, U and V: none is said */
};

/* A letter may follow a byte order. */
static const struct name letters[] = {
	{ "?", 'b', 1 }, { "b", 'i', 1 }, { "h", 'i', 2 }, { "i", 'i', 4 },
	{ "l", 'i', 8 }, { "q", 'i', 8 }, { "p", 'i', 8 }, { "B", 'u', 1 },
	{ "H", 'u', 2 }, { "I", 'u', 4 }, { "L", 'u', 8 }, { "Q", 'u', 8 },
	{ "P", 'u', 8 }, { "e", 'f', 2 }, { "f", 'f', 4 }, { "d", 'f', 8 },
	{ "g", 'f', 16 }, { "F", 'c', 8 }, { "D", 'c', 16 },
	{ "G", 'c', 32 }, { "c", 'S', 1 }, { "S", 'S', 0 }, { "a", 'S', 0 },
	{ "U", 'U', 0 }, { "V", 'V', 0 }, { "M", 'M', 8 }, { "m", 'm', 8 },
	{ "O", 'O', 8 },
	/* Of NumPy 2 alone. */
	{ "n", 'i', 8 }, { "N", 'u', 8 },
};

/* Those of NumPy 1 and 2, and Python's own. */
static const struct name words[] = {
	{ "bool", 'b', 1 }, { "bool_", 'b', 1 }, { "bool8", 'b', 1 },
	{ "int8", 'i', 1 }, { "byte", 'i', 1 },
	{ "int16", 'i', 2 }, { "short", 'i', 2 },
	{ "int32", 'i', 4 }, { "intc", 'i', 4 },
	{ "int64", 'i', 8 }, { "int", 'i', 8 }, { "int_", 'i', 8 },
	{ "int0", 'i', 8 }, { "intp", 'i', 8 }, { "long", 'i', 8 },
	{ "longlong", 'i', 8 },
	{ "uint8", 'u', 1 }, { "ubyte", 'u', 1 },
	{ "uint16", 'u', 2 }, { "ushort", 'u', 2 },
	{ "uint32", 'u', 4 }, { "uintc", 'u', 4 },
	{ "uint64", 'u', 8 }, { "uint", 'u', 8 }, { "uint0", 'u', 8 },
	{ "uintp", 'u', 8 }, { "ulong", 'u', 8 }, { "ulonglong", 'u', 8 },
	{ "float16", 'f', 2 }, { "half", 'f', 2 },
	{ "float32", 'f', 4 }, { "single", 'f', 4 },
	{ "float64", 'f', 8 }, { "float", 'f', 8 }, { "float_", 'f', 8 },
	{ "double", 'f', 8 },
	{ "float128", 'f', 16 }, { "longdouble", 'f', 16 },
	{ "longfloat", 'f', 16 },
	{ "complex64", 'c', 8 }, { "csingle", 'c', 8 },
	{ "singlecomplex", 'c', 8 },
	{ "complex128", 'c', 16 }, { "complex", 'c', 16 },
	{ "complex_", 'c', 16 }, { "cdouble", 'c', 16 },
	{ "cfloat", 'c', 16 },
	{ "complex256", 'c', 32 }, { "clongdouble", 'c', 32 },
	{ "clongfloat", 'c', 32 }, { "longcomplex", 'c', 32 },
	{ "bytes", 'S', 0 }, { "bytes_", 'S', 0 }, { "bytes0", 'S', 0 },
	{ "string_", 'S', 0 },
	{ "str", 'U', 0 }, { "str_", 'U', 0 }, { "str0", 'U', 0 },
	{ "unicode", 'U', 0 }, { "unicode_", 'U', 0 },
	{ "void", 'V', 0 }, { "void0", 'V', 0 },
	{ "object", 'O', 8 }, { "object_", 'O', 8 }, { "object0", 'O', 8 },
};

static bool find(const struct name *names, size_t n_names, const char *text,
		 size_t len, char *ret_kind, uint64_t *ret_size)
{
	size_t i;

	for (i = 0; i < n_names; i++)
		if (strlen(names[i].text) == len &&
		    !memcmp(names[i].text, text, len))
			break;
	if (i == n_names)
		return false;
	*ret_kind = names[i].kind;
	*ret_size = names[i].size;
	return true;
}

bool bfs_dt_find_letter(const char *text, size_t len, char *ret_kind,
			uint64_t *ret_size)
{
	return find(letters, BFS_ARRAY_LEN(letters), text, len, ret_kind,
		    ret_size);
}

bool bfs_dt_find_word(const char *text, size_t len, char *ret_kind,
		      uint64_t *ret_size)
{
	return find(words, BFS_ARRAY_LEN(words), text, len, ret_kind,
		    ret_size);
}
