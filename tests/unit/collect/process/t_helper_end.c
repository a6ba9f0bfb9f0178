// tier: test
/* Where stacks start: the function main, and the code of a program's entry. */
#include "object_world.h"

#include "collect/process/helper_end.h"

/* The offset of a function. In such programs it is the address. */
static uint64_t offset_of(const char *function)
{
	char *text = shell("nm %s | awk '$3 == \"%s\" { print $1 }'", program, function);
	uint64_t offset = strtoull(text, NULL, 16);
	free(text);
	ck_assert_uint_gt(offset, 0);
	return offset;
}

START_TEST(main_is_known_by_its_symbol)
{
	setup(10);
	shell_do("rm -f %s; echo 'int other(void) { return 7; } int main(void) { return other(); "
		 "}' | "
		 "gcc -pie -fPIE -O0 -x c - -o %s",
		 program, program);
	struct side_record r = record_of_ended(program);
	struct object *o = get(object_of_record(&table, &r));
	ck_assert_int_eq(o->state, OBJECT_OPEN);
	uint64_t main_at = offset_of("main"), other = offset_of("other"),
		 start = offset_of("_start");
	ck_assert(helper_is_main(&table, o, main_at));
	ck_assert(helper_is_main(&table, o, main_at + 4));
	ck_assert(!helper_is_main(&table, o, other));
	ck_assert(!helper_is_main(&table, o, start));
	ck_assert(helper_begins_in(&table, o, start));
	ck_assert(!helper_begins_in(&table, o, main_at));
	teardown();
}
END_TEST

/* Without the symbol no code is main. */
START_TEST(a_stripped_program_lacks_main)
{
	setup(10);
	struct side_record r = record_of_ended(program);
	struct object *o = get(object_of_record(&table, &r));
	for (uint64_t at = 0; at < 65536; at += 16)
		ck_assert(!helper_is_main(&table, o, at));
	teardown();
}
END_TEST

UNIT_MAIN("helper_end", main_is_known_by_its_symbol, a_stripped_program_lacks_main)
