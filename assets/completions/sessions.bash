
# The ids of recorded sessions come from codriver itself.
_codriver_and_sessions() {
    local word current="${COMP_WORDS[COMP_CWORD]}" takes=""
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in
            sessions) takes="s" ;;
            show|export) [[ "$takes" == "s" ]] && takes="id" ;;
            replay|--resume) takes="id" ;;
        esac
    done
    _codriver "$@"
    if [[ "$takes" == "id" && "$current" != -* ]]; then
        COMPREPLY+=($(compgen -W "$(codriver sessions list --ids 2>/dev/null)" -- "$current"))
    fi
}

complete -F _codriver_and_sessions -o bashdefault -o default codriver
