#compdef tunewire
# Completion of tunewire for zsh: everything is asked of `tunewire __complete`, live names included.
_tunewire() {
    local -a found
    local -a whole begun # words that are complete; a node or a parameter that goes on
    local before="${(j: :)words[1,CURRENT-1]}"
    found=("${(@f)$(tunewire __complete "$before $PREFIX" 2>/dev/null)}")
    if [[ -z "${found[*]}" ]]; then
        _files
        return
    fi
    whole=("${(@)found:#*[=.]}")
    begun=("${(@M)found:#*[=.]}")
    compadd -Q -a whole
    compadd -Q -S '' -a begun
}
if [[ "$funcstack[1]" = _tunewire ]]; then
    _tunewire "$@"
else
    compdef _tunewire tunewire
fi
