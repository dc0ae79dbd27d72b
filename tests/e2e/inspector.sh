#!/bin/sh
# The MCP server against the command line of the MCP inspector, where that is installed: tools listed and called.
#
#     inspector.sh [PROGRAM]
set -eu
program=${1:-$(dirname "$0")/../../target/debug/codriver}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
if ! command -v mcp-inspector >/dev/null; then
    echo 'skipped: the MCP inspector is not installed'
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/repo"
cd "$scratch/repo"
git init --quiet
inspect() {
    HOME=$scratch XDG_STATE_HOME='' XDG_RUNTIME_DIR='' timeout 120 mcp-inspector --cli "$program" --peer demo mcp "$@"
}
inspect --method tools/list | grep -q '"name": "discuss"'
inspect --method prompts/list | grep -q '"name": "pair"'
inspect --method resources/list | grep -q 'codriver://session'
inspect --method tools/call --tool-name ping | grep -q 'headless'
inspect --method tools/call --tool-name discuss --tool-arg 'message=Is it sound?' kind=plan | grep -q 'ADJUST'
inspect --method tools/call --tool-name discuss --tool-arg kind=plan | grep -q 'bad-argument'
echo ok
