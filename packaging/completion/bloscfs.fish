# SPDX-License-Identifier: BSD-3-Clause
# Completion of bloscfs for fish. Options come from the program itself.

function __bloscfs_options
	bloscfs --help=all 2> /dev/null |
		string match -r -- '^  --[a-z_]+=?.*' |
		string replace -r -- '^  --([a-z_]+)(=?)\S*\s+(.*)$' '--$1$2'\t'$3'
end

complete -c bloscfs -a '(__bloscfs_options)' -n 'string match -q -- "-*" (commandline -ct)'
complete -c bloscfs -s f -l foreground -d 'stay in the foreground'
complete -c bloscfs -s d -d 'the same, and log each request'
complete -c bloscfs -s o -x -d 'options, with commas between'
complete -c bloscfs -l check -d 'decode everything, print verdicts'
complete -c bloscfs -l info -d 'print facts about a container'
complete -c bloscfs -l cat -d 'write a file of a container'
complete -c bloscfs -l unmount -x -a '(__fish_complete_directories)' -d 'unmount'
complete -c bloscfs -l version -d 'print versions'
complete -c bloscfs -l help -d 'print a summary'
