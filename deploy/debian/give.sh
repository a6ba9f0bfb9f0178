# shellcheck shell=sh
# Changes the owner of a directory and its contents: give DIR USER. Files with several hard links
# are skipped, since they may also be elsewhere.
give() {
	find "$1" -xdev \( -type d -o -links 1 \) -exec chown -h "$2:$2" {} +
}
