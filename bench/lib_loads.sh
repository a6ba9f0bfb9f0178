# shellcheck shell=bash disable=SC2034,SC2154 # variables that it shares with those that read it
# bench/lib_loads.sh: programs without frame pointers, under load, for bench scripts that watch them. After bench/lib.sh.
#
#     load_begin NAME SECONDS   starts it, and work for it that ends after that many seconds: its pids, with commas, in $load_pids,
#                               the name of its threads in $load_comm. 1: not here; $load_missing says what is
#     load_end
#
# serve_redis, serve_nginx and serve_postgres [OPTION…] start the server alone, for loads of another kind; its port is in $load_port.
#
# Every server listens on 127.0.0.1 only and keeps its files below $tmp.
loads='redis nginx sqlite openssl cc1 postgres'
load_own=()
trap 'load_end; cleanup' EXIT

load_begin() {
	load_own=() load_pids='' load_comm='' load_missing=''
	"load_$1" "$2" || return 1
	sleep 0.5
}
# Ends what was started last first.
load_end() {
	local i
	for ((i = ${#load_own[@]} - 1; i >= 0; i--)); do # a time-out ends its children, too
		kill "${load_own[i]}" 2>/dev/null
		wait "${load_own[i]}" 2>/dev/null
	done
	load_own=()
}
own() { # COMMAND…
	"$@" >/dev/null 2>"$tmp/load.err" </dev/null &
	load_own+=($!)
	pids+=($!)
}
needs() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null && return
	load_missing="$1 is not here (package $2)"
	return 1
}
free_port() {
	local port
	for port in $(shuf -i 20000-32000 -n 50); do
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}
child_of() { # PID: its only one, as soon as it is there
	for _ in $(seq 100); do
		pgrep -P "$1" && return
		sleep 0.1
	done
}
until_open() { # PORT
	for _ in $(seq 100); do
		(: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.1
	done
}

serve_redis() {
	needs redis-server redis-server && needs redis-benchmark redis-tools || return 1
	load_port=$(free_port)
	mkdir -p "$tmp/redis"
	own redis-server --port "$load_port" --bind 127.0.0.1 --save '' --appendonly no --dir "$tmp/redis"
	load_pids=$! load_comm=redis-server
	until_open "$load_port"
}
load_redis() {
	serve_redis || return 1
	own timeout "$1" redis-benchmark -p "$load_port" -c 20 -n 1000000000 -r 10000 -q lpush list __rand_int__
	own timeout "$1" redis-benchmark -p "$load_port" -c 20 -l -r 10000 -q -t set,get,lrange_100,zadd,mset
}

serve_nginx() {
	local master
	needs nginx nginx-light && needs ab apache2-utils || return 1
	load_port=$(free_port)
	mkdir -p "$tmp/nginx/logs"
	chmod 755 "$tmp" "$tmp/nginx"
	seq 20000 >"$tmp/nginx/page.txt"
	cat >"$tmp/nginx/conf" <<-CONF
		worker_processes 1;
		pid $tmp/nginx/pid;
		error_log $tmp/nginx/error.log;
		events { }
		http {
			access_log $tmp/nginx/access.log;
			types { text/plain txt; }
			gzip on; gzip_types text/plain; gzip_comp_level 3;
			client_body_temp_path $tmp/nginx/body; proxy_temp_path $tmp/nginx/proxy; fastcgi_temp_path $tmp/nginx/fastcgi;
			uwsgi_temp_path $tmp/nginx/uwsgi; scgi_temp_path $tmp/nginx/scgi;
			server {
				listen 127.0.0.1:$load_port; root $tmp/nginx; keepalive_requests 1000000000;
				location = /status { stub_status; }
			}
		}
	CONF
	own nginx -p "$tmp/nginx" -c "$tmp/nginx/conf" -g 'daemon off;'
	master=$!
	until_open "$load_port"
	load_pids=$(child_of $master) load_comm=nginx
}
load_nginx() {
	serve_nginx || return 1
	# -t sets a limit of 50000 requests, unless -n follows
	own timeout "$1" ab -q -k -c 4 -t "$1" -n 100000000 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$load_port/page.txt"
	own timeout "$1" ab -q -c 4 -t "$1" -n 100000000 "http://127.0.0.1:$load_port/conf"
}

load_sqlite() {
	needs sqlite3 sqlite3 || return 1
	cat >"$tmp/load.sql" <<-SQL
		create table t(a integer primary key, b text, c real);
		insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
			select i, hex(randomblob(8)), i * 0.7 from n;
		create index t_b on t(b);
	SQL
	for _ in $(seq 1000); do
		echo "select count(*), group_concat(substr(x.b, 1, 2)) from t x join t y on y.b = x.b where x.b like '%A%' order by x.c;"
		echo "update t set c = c + 1, b = lower(b) || 'x' where a % 7 = 3; select b, sum(c) from t group by substr(b, 1, 3) order by 2;"
	done >>"$tmp/load.sql"
	own timeout "$1" sqlite3 :memory: ".read $tmp/load.sql"
	load_pids=$(child_of $!) load_comm=sqlite3
}

load_openssl() {
	local what
	needs openssl openssl || return 1
	for what in '-evp aes-128-gcm' '-evp chacha20-poly1305' '-evp sha3-256' '-seconds 1 md5 sha256 rsa2048 dsa2048 ecdsap256 ecdhx25519 ed25519'; do
		# shellcheck disable=SC2086
		own timeout "$1" openssl speed -seconds 100 $what
		load_pids+=${load_pids:+,}$(child_of $!)
	done
	load_comm=openssl
}

# C that takes a compiler some seconds: functions of all sorts of statements, some nested deeply.
big_c() {
	awk 'BEGIN {
		print "struct s { int a, b[16]; double d; struct s *next; };"
		for (i = 0; i < 150; i++) {
			printf "static int f%d(struct s *s, int n)\n{\n\tint x = n * %d;\n", i, i + 3
			printf "\tfor (int i = 0; i < n; i++) {\n\t\tswitch (s->b[i & 15] %% 7) {\n"
			for (c = 0; c < 7; c++)
				printf "\t\tcase %d: x += s->b[(i + %d) & 15] * x; if (x > %d) s->d *= 1.5; break;\n", c, c, i * c
			printf "\t\t}\n\t\tfor (struct s *t = s; t; t = t->next)\n\t\t\tx ^= t->a << (i & 7);\n\t}\n"
			e = "x"
			for (d = 0; d < 60; d++) e = "(" e " + s->b[" d % 16 "] * " d + 1 ")"
			printf "\treturn %s%s;\n}\n", e, i ? " + f" i - 1 "(s, n - 1)" : ""
		}
		print "int all(struct s *s) { return f149(s, 7); }"
	}'
}
# shellcheck disable=SC2016
load_cc1() {
	local cc1
	cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
	needs "${cc1:-cc1}" gcc || return 1
	big_c >"$tmp/big.c"
	own timeout "$1" bash -c 'while "$1" -quiet -O2 "$2" -o /dev/null; do :; done' - "$cc1" "$tmp/big.c"
	load_pids=$(child_of $!) load_comm=cc1
	load_pids+=,$(child_of "$load_pids") # the one at hand, and those to come
}

# shellcheck disable=SC2120 # the options are those of other scripts
serve_postgres() { # OPTION… of the server
	load_bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -1)
	needs "${load_bin:-/usr/lib/postgresql}/postgres" postgresql && needs "$load_bin/pgbench" postgresql-contrib || return 1
	load_user=postgres
	id $load_user >/dev/null 2>&1 || load_user=nobody
	load_port=$(free_port)
	mkdir -p "$tmp/pg"
	chmod 755 "$tmp"
	chown $load_user "$tmp/pg"
	load_as=(setpriv "--reuid=$load_user" --regid="$(id -g "$load_user")" --clear-groups)
	"${load_as[@]}" "$load_bin/initdb" -D "$tmp/pg/data" -A trust -U $load_user -N >/dev/null 2>"$tmp/load.err" || return 1
	own "${load_as[@]}" "$load_bin/postgres" -D "$tmp/pg/data" -p "$load_port" \
		-c listen_addresses=127.0.0.1 -c unix_socket_directories="$tmp/pg" -c jit=off "$@"
	load_master=$!
	until_open "$load_port"
	for _ in $(seq 100); do
		"${load_as[@]}" "$load_bin/pgbench" -q -i -s 4 -h 127.0.0.1 -p "$load_port" -U $load_user postgres >/dev/null 2>"$tmp/load.err" && break
		sleep 0.2
	done
}
load_postgres() {
	serve_postgres || return 1
	own "${load_as[@]}" timeout "$1" "$load_bin/pgbench" -n -c 3 -T "$1" -h 127.0.0.1 -p "$load_port" -U $load_user postgres
	for _ in $(seq 100); do
		load_pids=$(pgrep -P $load_master -f '127\.0\.0\.1' | paste -sd,) load_comm=postgres
		[ -n "$load_pids" ] && return
		sleep 0.1
	done
	load_missing='no backend of postgres came'
	return 1
}

# A host with many Pythons: 20 processes of 4 threads each. Two of them compute; all other threads wait, most of the time.
load_pythons() {
	local python i
	python=$(printf '%s\n' /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] | grep -v '[*[]' | sort -V | tail -1)
	[ -n "$python" ] || { load_missing="python3 is not here (package python3)"; return 1; }
	for i in $(seq 20); do own timeout "$1" "$python" bench/python_work.py threads $((i <= 2)); done
	load_pids=$(IFS=,; echo "${load_own[*]}") load_comm=python3
}
