# shellcheck shell=sh
# Creates the system user and group of the data, unless they exist. Works without systemd.
create_user() {
	getent group cresset >/dev/null || groupadd --system cresset || no_user
	if ! getent passwd cresset >/dev/null; then
		useradd --system --gid cresset --home-dir /var/lib/cresset --no-create-home --shell /usr/sbin/nologin \
			--comment "Cresset, store process" cresset || no_user
	elif [ "$(getent passwd cresset | cut -d: -f6)" != /var/lib/cresset ]; then
		echo "cresset: there is a user cresset already, with another home: it becomes the owner of what is recorded" >&2
	fi
}
no_user() {
	echo "cresset: the user cresset could not be made: /etc must be writable, with room for another line in passwd, group and shadow" >&2
	exit 1
}
