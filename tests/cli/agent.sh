#!/usr/bin/env bash
# tier: test
# cresset agent: what it refuses before it records anything.
. tests/cli/lib.sh

fails "no server" 2 "--server URL is missing" agent
fails "no address" 2 "is not an address" agent --server prof.example:7070
fails "another scheme" 2 "is not an address" agent --server ftp://prof.example
fails "no host" 2 "https://HOST:PORT" agent --server https:///x
fails "a password in the address" 2 "https://HOST:PORT" agent --server https://me:secret@prof.example
fails "parameters" 2 "https://HOST:PORT" agent --server 'https://prof.example/?a=b'
echo cresset_x >"$tmp/token"
fails "a token without TLS" 2 "not encrypted" agent --server http://prof.example:7070 --token-file "$tmp/token"
CRESSET_TOKEN=x fails "… from the environment, too" 2 "not encrypted" agent --server http://10.0.0.1
fails "a name with this host's name as prefix" 2 "not encrypted" agent --server http://127.0.0.1.example --token-file "$tmp/token"
fails "a label" 2 "must be KEY=VALUE" agent --server https://prof.example --label host
fails "… without a key" 2 "must be KEY=VALUE" agent --server https://prof.example --label =x
fails "a token that is not there" 1 "cannot read a token" agent --server https://prof.example --token-file "$tmp/none"
: >"$tmp/empty"
fails "an empty one" 1 "it is empty" agent --server https://prof.example --token-file "$tmp/empty"
fails "an argument" 2 "unexpected argument" agent --server https://prof.example x
fails "a spool that is too small" 2 "spool-size" agent --server https://prof.example --spool-size 1K
finish
