# SPDX-License-Identifier: BSD-3-Clause
# versions.sh - one version, wherever it stands.
. "$(dirname "$0")/tap.sh"

version=$(sed -n "s/^  version: '\([0-9.]*\)',$/\1/p" meson.build)

is_a_version() { [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || echo "$version"; }
in_manuals()
{
	local page
	for page in docs/*.[1-9]; do
		grep -q "^\.TH .* \"bloscfs $version\" " "$page" || echo "$page"
	done
}
in_the_header()
{
	local part n
	IFS=. read -r -a n <<< "$version"
	for part in MAJOR MINOR PATCH; do
		grep -qE "BLOSCFS_VERSION_$part[[:space:]]+${n[0]}$" \
			lib/bloscfs.h || echo "$part is not ${n[0]}"
		n=("${n[@]:1}")
	done
}
in_the_package()
{
	head -n 1 packaging/debian/changelog | grep -F "($version-" > /dev/null ||
		head -n 1 packaging/debian/changelog
	grep -qxE "Version: +$version" packaging/rpm/bloscfs.spec ||
		echo "bloscfs.spec"
}
in_the_program()
{
	"$BLOSCFS_DAEMON" --version | head -n 1 | grep -qx "bloscfs $version" ||
		"$BLOSCFS_DAEMON" --version
}
# What a library must be at least, one a line: its name, the version.
least()
{
	tr -d '\n' < meson.build | grep -oE "dependency\('[^)]*'>= [0-9.]+'" |
		sed -E "s/dependency\('([^']*)'.*>= ([0-9.]+)'/\1 \2/"
}
in_what_packages_need()
{
	local name least
	[ "$(least | wc -l)" -ge 3 ] || echo "meson.build names no versions"
	while read -r name least; do
		grep -qF "pkgconfig($name) >= $least" packaging/rpm/bloscfs.spec ||
			echo "bloscfs.spec: no $name >= $least"
		grep -qE "^ lib${name#lib}[0-9a-z-]*-dev \(>= $least\),$" \
			packaging/debian/control ||
			echo "control: no $name >= $least"
	done < <(least)
}

check "meson.build has one" is_a_version
check "the manuals say it" in_manuals
check "the header says it" in_the_header
check "the package says it" in_the_package
check "the program says it" in_the_program
check "packages need what meson.build does" in_what_packages_need
finish
