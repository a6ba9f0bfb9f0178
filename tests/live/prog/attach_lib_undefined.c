/* A library that the loader refuses, once it has mapped it. */
// build: -shared -fPIC
int attach_nowhere(void);
int attach_lib_undefined(void);

int attach_lib_undefined(void)
{
	return attach_nowhere();
}
