
# The ids of recorded sessions come from codriver itself.
complete -c codriver -n "__fish_codriver_using_subcommand sessions; and __fish_seen_subcommand_from show export" -f -a "(codriver sessions list --ids 2>/dev/null)"
complete -c codriver -n "__fish_codriver_using_subcommand replay" -a "(codriver sessions list --ids 2>/dev/null)"
complete -c codriver -n "__fish_codriver_needs_command" -l resume -f -a "(codriver sessions list --ids 2>/dev/null)"
