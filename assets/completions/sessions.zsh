# The ids of recorded sessions come from codriver itself.
(( $+functions[_codriver_session_ids] )) ||
_codriver_session_ids() {
    local -a ids
    ids=(${(f)"$(codriver sessions list --ids 2>/dev/null)"})
    compadd -o nosort -a ids
}
(( $+functions[_codriver_session_ids_and_files] )) ||
_codriver_session_ids_and_files() {
    _codriver_session_ids
    _files
}

