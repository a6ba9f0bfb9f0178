# shellcheck shell=bash
# tests/live/lib_project.sh: a small C project that is built by make, for tests and benches of hosts that build.
#
#     project_make DIR FILES      writes it: each file takes a compiler some 0.2 s, each rule runs a shell
#     project_clean DIR           so that the next make builds all of it
project_make() {
	local i
	mkdir -p "$1"
	for i in $(seq "$2"); do
		awk -v n="$i" 'BEGIN {
			print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstruct s { int a, b[16]; double d; struct s *next; };"
			for (i = 0; i < 25; i++) {
				printf "static int f%d_%d(struct s *s, int n)\n{\n\tint x = n * %d;\n", n, i, i + 3
				printf "\tfor (int i = 0; i < n; i++) {\n\t\tswitch (s->b[i & 15] %% 7) {\n"
				for (c = 0; c < 7; c++)
					printf "\t\tcase %d: x += s->b[(i + %d) & 15] * x; if (x > %d) s->d *= 1.5; break;\n", c, c, i * c
				printf "\t\t}\n\t\tfor (struct s *t = s; t; t = t->next)\n\t\t\tx ^= t->a << (i & 7);\n\t}\n\treturn x;\n}\n"
			}
			printf "int all%d(struct s *s)\n{\n\tint x = 0;\n", n
			for (i = 0; i < 25; i++) printf "\tx += f%d_%d(s, x);\n", n, i
			print "\treturn x;\n}"
		}' >"$1/part$i.c"
	done
	echo 'int main(void) { return 0; }' >"$1/main.c"
	cat >"$1/Makefile" <<-'MAKE'
		.RECIPEPREFIX = >
		CFLAGS = -O2 -g
		objects := $(patsubst %.c,%.o,$(wildcard *.c))
		program: $(objects)
		> $(CC) -o $@ $^
		%.o: %.c
		> @test -d . && echo "CC $<" | sed 's/CC/cc/' >/dev/null; $(CC) $(CFLAGS) -c -o $@ $<
	MAKE
}
project_clean() { rm -f "$1"/*.o "$1/program"; }
