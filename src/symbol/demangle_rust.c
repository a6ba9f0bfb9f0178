#include "symbol/demangle.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] & 0x80)
			return false;
	return true;
}

/* Non-ASCII text is an identifier that the library has decoded on the heap: no jump then. Identifiers are always separated by
 * something in ASCII. */
static void rust_add(const char *text, size_t len, void *demangled)
{
	struct demangled *d = demangled;
	if (len <= DEMANGLE_MAX_RESULT - d->text.len || is_ascii(text, len))
		demangled_add(text, len, d);
}

static bool rust_print(const char *name, struct demangled *d)
{
	buf_clear(&d->text);
	return setjmp(d->full) == 0 && rust_demangle_callback(name, DEMANGLE_FLAGS, rust_add, d);
}

/* In v0 a function type or dyn (F, D) can bind lifetimes: G, their number in base 62, '_'. The library counts up to that number,
 * and silently where the type is not printed. Real ones have one digit at most. What looks like a longer one may also be part
 * of an identifier or of a hash: then the name is as valid with the G replaced by a digit, and else it is not. */
static bool rust_binds_few(const char *name, size_t len, struct demangled *d)
{
	char *copy = xstrndup(name, len);
	size_t digits = 0;   /* in a row, from here on */
	bool number = false; /* they end in '_' */
	bool changed = false;
	for (size_t i = len; i-- > 1;) {
		bool binder = name[i] == 'G' && (name[i - 1] == 'F' || name[i - 1] == 'D');
		if (binder && number && digits > 1) {
			copy[i] = '0';
			changed = true;
		}
		digits = isalnum((unsigned char)name[i]) ? digits + 1 : 0;
		number = name[i] == '_' || (number && digits > 0);
	}
	bool ok = !changed || rust_print(copy, d);
	free(copy);
	return ok;
}

/* Legacy names end in a hash, "17h" and 16 digits: without, it is one of C++, as nearly all are. */
bool demangle_rust(const char *name, size_t len, struct demangled *d)
{
	if (name[1] != 'R' && !strstr(name, "17h"))
		return false;
	return (name[1] != 'R' || rust_binds_few(name, len, d)) && rust_print(name, d);
}
