#!/usr/bin/env bash
# tier: test
# Includes point to lower floors only (src/LAYERS).
set -eu
exec tools/check-layers
