# Let a unit start fio. Given before this text: dir, and asked (the uptime at which the unit asked).
cd "$dir" 2>/dev/null || exit 0
[ ! -e stop ] || exit 0
[ ! -p .go ] || echo "$asked" 1<>.go
