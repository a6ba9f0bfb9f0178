# shellcheck shell=sh
# Gives a directory and all in it to a user: give DIR USER. A file with a second name stays as it is: that may be a link to a file elsewhere.
give() {
	find "$1" -xdev \( -type d -o -links 1 \) -exec chown -h "$2:$2" {} +
}
