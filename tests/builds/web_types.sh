#!/usr/bin/env bash
# tier: test
# Types and form of the pages' JavaScript.
set -eu
exec make -s ALL=1 check-web
