# SPDX-License-Identifier: BSD-3-Clause
# html.sh - the manual pages as browsers show them: whole, and their links lead
# to one another.
. "$(dirname "$0")/tap.sh"

if ! command -v mandoc > /dev/null; then
	echo "1..0 # SKIP there is no mandoc"
	exit 0
fi

pages=(docs/*.[1358])
make()
{
	local page
	for page in "${pages[@]}"; do
		packaging/html "$page" "$tmp/${page##*/}.html"
	done
}
# Each section of a page is one of its HTML.
sections()
{
	local page
	for page in "${pages[@]}"; do
		diff <(sed -n 's/^\.SH "*\([^"]*\)"*$/\1/p' "$page" | tr ' ' _) \
			<(grep -oE 'class="Sh" id="[^"]*"' "$tmp/${page##*/}.html" |
				cut -d '"' -f 4)
	done
}
links()
{
	local file to
	for file in "$tmp"/*.html; do
		grep -oE 'href="[^"]*"' "$file" | cut -d '"' -f 2 | sort -u |
		while read -r to; do
			case $to in
			'#'*) grep -qF "id=\"${to#'#'}\"" "$file" ;;
			*) [ -e "$tmp/$to" ] ;;
			esac || echo "${file##*/}: no $to"
		done
	done
}
linked()
{
	grep -qF '<a href="bloscfs-formats.5.html">' "$tmp/bloscfs.1.html" ||
		echo "bloscfs(1) has no link to bloscfs-formats(5)"
}

check "each page becomes one" make
check "sections are all there" sections
check "links lead somewhere" links
check "pages that are named are links" linked
sed -i 's/bloscfs\.1\.html/bloscfs.2.html/' "$tmp/libbloscfs.3.html"
check_fails "a link that leads nowhere is found" links
finish
