# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Packages of another Debian in a root of their own, below build/. Source it; $place is the folder:
#
#   fill_root SUITE PACKAGE...         $place/root has them and what they depend on, unpacked
#   unpack_alone PACKAGE...            after it: these without what they depend on, of the same suite
#
# SUITE may be one of backports: its packages go before those of the suite that it belongs to.
#
# sim_tests/rdma_core/in_root.sh runs a command in such a root.

# The mirror of this machine's own Debian as "URI [signed-by] suite component" for another suite.
source_of() # SUITE
{
	local uri codename key
	# shellcheck disable=SC2016
	read -r uri codename key < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(SIGNED_BY)' \
		'Created-By: Packages' "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" 'Component: main' | head -n 1)
	[ -n "$codename" ] || return 1
	# Where apt names no key: the one that every Debian has.
	[ -f "${key:-}" ] || key=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$key] $uri $1 main"
}

fill_root()
{
	local suite=$1 part deb link
	: "${place:?}"
	shift
	rm -rf "$place/root" "$place/apt"
	mkdir -p "$place/root" "$place"/apt/{state/lists/partial,cache/archives/partial} || return 1
	: >"$place/apt/state/status"
	for part in "${suite%-backports}" "$suite"; do
		source_of "$part" || return 1
	done | sort -u >"$place/apt/sources.list" || return 1
	cat >"$place/apt/apt.conf" <<-END
		Dir::State "$place/apt/state";
		Dir::State::status "$place/apt/state/status";
		Dir::Cache "$place/apt/cache";
		Dir::Etc::sourcelist "$place/apt/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Sandbox::User "$(id -un)";
		APT::Default-Release "$suite";
	END
	APT_CONFIG=$place/apt/apt.conf apt-get -qq update || return 1
	APT_CONFIG=$place/apt/apt.conf apt-get -qq -y -d --no-install-recommends install "$@" || return 1
	for deb in "$place"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$place/root" || return 1
	done
	for link in bin sbin lib lib64; do
		[ -e "$place/root/$link" ] || ln -s "usr/$link" "$place/root/$link" || return 1
	done
	rm -rf "$place/apt/cache"
}

unpack_alone()
{
	local deb
	(
		cd "${place:?}/apt" || exit 1
		APT_CONFIG=$place/apt/apt.conf apt-get -qq download "$@" || exit 1
		for deb in ./*.deb; do
			dpkg-deb -x "$deb" "$place/root" && rm "$deb" || exit 1
		done
	)
}
