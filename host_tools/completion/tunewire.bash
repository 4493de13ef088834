# Completion of tunewire for bash: everything is asked of `tunewire __complete`, live names included.
_tunewire() {
    local line="${COMP_LINE:0:COMP_POINT}" word done_part IFS=$'\n'
    mapfile -t COMPREPLY < <(tunewire __complete "$line" 2>/dev/null)
    word="${line##* }"
    # readline breaks words at = and : and wants only what follows the last of them
    done_part="${word%"${word##*[=:]}"}"
    COMPREPLY=("${COMPREPLY[@]#"$done_part"}")
    case "${COMPREPLY[0]-}" in
    *= | *.) compopt -o nospace ;;
    esac
}
complete -o default -F _tunewire tunewire
