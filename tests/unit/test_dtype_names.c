/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_dtype_names.c - dtypes by the words and letters that NumPy knows.
 */
#include "base/bytes.h"
#include "text/dtype.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct good {
	const char *text;
	uint64_t itemsize;
	const char *descr;
};

static void expect(const struct good *good)
{
	struct bfs_dtype type;
	char *got;
	bool wide;

	if (bfs_dtype_parse(good->text, strlen(good->text), &type, NULL))
		fail_msg("%s is refused", good->text);
	assert_int_equal(type.itemsize, good->itemsize);
	assert_int_equal(bfs_dtype_descr(&type, &got, &wide), BFS_OK);
	assert_string_equal(got, good->descr);
	bfs_free(got);
	bfs_dtype_release(&type);
}

/* What numpy.dtype(text).str says on 64-bit Linux: the letters, and the keys
 * of numpy.sctypeDict of 1.24 and 2.x. */
static void words_and_letters_of_numpy_are_known(void **state)
{
	static const struct good table[] = {
		{ "bool", 1, "'|b1'" }, { "bool_", 1, "'|b1'" },
		{ "bool8", 1, "'|b1'" }, { "b", 1, "'|i1'" },
		{ "int8", 1, "'|i1'" }, { "byte", 1, "'|i1'" },
		{ "B", 1, "'|u1'" }, { "uint8", 1, "'|u1'" },
		{ "ubyte", 1, "'|u1'" }, { "h", 2, "'<i2'" },
		{ "int16", 2, "'<i2'" }, { "short", 2, "'<i2'" },
		{ ">H", 2, "'>u2'" }, { "uint16", 2, "'<u2'" },
		{ "ushort", 2, "'<u2'" }, { "i", 4, "'<i4'" },
		{ ">i", 4, "'>i4'" }, { "|i", 4, "'<i4'" },
		{ "int32", 4, "'<i4'" }, { "intc", 4, "'<i4'" },
		{ "I", 4, "'<u4'" }, { "uint32", 4, "'<u4'" },
		{ "uintc", 4, "'<u4'" }, { "l", 8, "'<i8'" },
		{ "q", 8, "'<i8'" }, { "p", 8, "'<i8'" },
		{ "n", 8, "'<i8'" }, { "N", 8, "'<u8'" },
		{ "int", 8, "'<i8'" }, { "int_", 8, "'<i8'" },
		{ "int0", 8, "'<i8'" }, { "int64", 8, "'<i8'" },
		{ "intp", 8, "'<i8'" }, { "long", 8, "'<i8'" },
		{ "longlong", 8, "'<i8'" }, { "L", 8, "'<u8'" },
		{ "Q", 8, "'<u8'" }, { "P", 8, "'<u8'" },
		{ "uint", 8, "'<u8'" }, { "uint0", 8, "'<u8'" },
		{ "uint64", 8, "'<u8'" }, { "uintp", 8, "'<u8'" },
		{ "ulong", 8, "'<u8'" }, { "ulonglong", 8, "'<u8'" },
		{ "e", 2, "'<f2'" }, { "float16", 2, "'<f2'" },
		{ "half", 2, "'<f2'" }, { "f", 4, "'<f4'" },
		{ "<f", 4, "'<f4'" }, { "float32", 4, "'<f4'" },
		{ "single", 4, "'<f4'" }, { ">d", 8, "'>f8'" },
		{ "=f8", 8, "'<f8'" }, { "float64", 8, "'<f8'" },
		{ "float", 8, "'<f8'" }, { "float_", 8, "'<f8'" },
		{ "double", 8, "'<f8'" }, { "g", 16, "'<f16'" },
		{ "float128", 16, "'<f16'" }, { "longdouble", 16, "'<f16'" },
		{ "longfloat", 16, "'<f16'" }, { "F", 8, "'<c8'" },
		{ "complex64", 8, "'<c8'" }, { "csingle", 8, "'<c8'" },
		{ "singlecomplex", 8, "'<c8'" }, { "D", 16, "'<c16'" },
		{ "complex128", 16, "'<c16'" }, { "complex", 16, "'<c16'" },
		{ "complex_", 16, "'<c16'" }, { "cdouble", 16, "'<c16'" },
		{ "cfloat", 16, "'<c16'" }, { "G", 32, "'<c32'" },
		{ "complex256", 32, "'<c32'" },
		{ "clongdouble", 32, "'<c32'" },
		{ "clongfloat", 32, "'<c32'" },
		{ "longcomplex", 32, "'<c32'" }, { "c", 1, "'|S1'" },
		{ "<c", 1, "'|S1'" }, { "a5", 5, "'|S5'" },
		{ "a", 0, "'|S0'" }, { "bytes", 0, "'|S0'" },
		{ "bytes_", 0, "'|S0'" }, { "bytes0", 0, "'|S0'" },
		{ "string_", 0, "'|S0'" }, { ">U", 0, "'>U0'" },
		{ "str", 0, "'<U0'" }, { "str_", 0, "'<U0'" },
		{ "str0", 0, "'<U0'" }, { "unicode", 0, "'<U0'" },
		{ "unicode_", 0, "'<U0'" }, { "void", 0, "'|V0'" },
		{ "void0", 0, "'|V0'" }, { "M", 8, "'<M8'" },
		{ ">m", 8, "'>m8'" }, { "datetime64", 8, "'<M8'" },
		{ "datetime64[ns]", 8, "'<M8[ns]'" },
		{ "<datetime64[D]", 8, "'<M8[D]'" },
		{ "timedelta64", 8, "'<m8'" },
		{ "timedelta64[25s]", 8, "'<m8[25s]'" },
		{ "[('a', 'int16'), ('b', 'f')]", 6,
		  "[('a', '<i2'), ('b', '<f4')]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect(&table[i]);
}

static void words_for_objects_are_objects(void **state)
{
	static const char *const texts[] = { "O", "object", "object_",
					     "object0", "[('a', 'object')]" };
	bool has;
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(texts); i++) {
		assert_int_equal(bfs_dtype_has_object(texts[i],
						      strlen(texts[i]), &has),
				 BFS_OK);
		assert_true(has);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_letters_of_numpy_are_known),
		cmocka_unit_test(words_for_objects_are_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
