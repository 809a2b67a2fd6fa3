# SPDX-License-Identifier: MIT
# bash completion for kreplay; made by `kreplay completion bash`.
_kreplay()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags= words= i
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run softgpu report info help --help --version' -- "$word")
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		flags='-n --passes -k --kernel --dispatch --until --check --writes -t --tool -o --output --door --softgpu --drain-timeout --budget --snapshot --chunk --scope --verify-scope --decline-visible --log --help'
		words='-n --passes -k --kernel --dispatch --until -t --tool -o --output --door --drain-timeout --budget --snapshot --chunk --scope --log '
		;;
	softgpu)
		flags='-s --spec --help'
		words='-s --spec '
		;;
	report)
		flags='-o --output --diff --dispatches --help'
		words='-o --output --diff '
		;;
	info)
		flags='-n --passes -k --kernel --dispatch --until --check --writes -t --tool -o --output --door --softgpu --drain-timeout --budget --snapshot --chunk --scope --verify-scope --decline-visible --log --help'
		words='-n --passes -k --kernel --dispatch --until -t --tool -o --output --door --drain-timeout --budget --snapshot --chunk --scope --log '
		;;
	help)
		mapfile -t COMPREPLY < <(compgen -W 'run softgpu report info help' -- "$word")
		return
		;;
	*) return ;;
	esac
	case $before in
	-t | --tool)
		mapfile -t COMPREPLY < <(compgen -W 'timing determinism writes' -- "$word"; compgen -f -X '!*.so' -- "$word"; compgen -d -- "$word")
		return
		;;
	--door)
		mapfile -t COMPREPLY < <(compgen -W 'preload tools-lib' -- "$word")
		return
		;;
	--log)
		mapfile -t COMPREPLY < <(compgen -W 'error warn info debug' -- "$word")
		return
		;;
	--until)
		mapfile -t COMPREPLY < <(compgen -W 'cv=1%' -- "$word")
		return
		;;
	esac
	if [[ " $words " == *" $before "* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
	fi
	if [ "${COMP_WORDS[1]}" = report ]; then
		mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word"; compgen -f -X '!*.json' -- "$word"; compgen -d -- "$word")
		return
	fi
	# behind the command everything is the command's own
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) i=$((i + 1)); break ;;
		-*) [[ " $words " == *" ${COMP_WORDS[i]} "* ]] && i=$((i + 1)) ;;
		*) break ;;
		esac
	done
	if [ "$i" -lt "$COMP_CWORD" ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
	fi
}
complete -o filenames -F _kreplay kreplay
