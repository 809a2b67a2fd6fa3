/* SPDX-License-Identifier: MIT */
/* What a run's report does not say by itself: why nothing was chosen, and that a check compared nothing. */
#include <regex.h>
#include <string.h>

#include "cli.h"
#include "options/options.h"
#include "report/grid.h"
#include "reports.h"

/* One pattern is compiled anew for each run: it has been found good before the program started. */
static bool matches_any(const char *pattern, const struct kr_report *report)
{
	bool found = false;
	regex_t regex;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return true;
	for (size_t i = 0; i < report->kernel_count && !found; i++) {
		const struct kr_report_kernel *kernel = &report->kernels[i];

		found = regexec(&regex, kernel->name, 0, NULL, 0) == 0 ||
			(kernel->mangled && regexec(&regex, kernel->mangled, 0, NULL, 0) == 0);
	}
	regfree(&regex);
	return found;
}

/* Each pattern as it was given, and false when one of them matches. */
static bool add_patterns(struct kr_text *out, const struct kr_options *options, const struct kr_report *report)
{
	bool any = false;

	for (size_t i = 0; i < options->kernel_count; i++) {
		any = any || matches_any(options->kernels[i], report);
		kr_text_addf(out, "%s-k '", i ? " or " : "");
		kr_text_add_clean(out, options->kernels[i]);
		kr_text_add(out, "'");
	}
	return !any;
}

void kr_cli_say_unchosen(const struct kr_options *options, const struct kr_report *report)
{
	struct kr_text patterns = { 0 };
	bool no_name;

	/* a tool of the user's may have chosen, and what -n 1 has chosen leaves no trace */
	if (report->kernel_count == 0 || report->replayed > 0 || report->declined.total > 0 || report->interrupted ||
	    options->tool || (options->kernel_count == 0 && options->dispatches.count == 0))
		return;
	no_name = add_patterns(&patterns, options, report) && options->kernel_count > 0;
	if (patterns.failed)
		;
	else if (no_name)
		kr_cli_say("no dispatch was chosen: no kernel's name matches %s", patterns.data);
	else if (options->passes == 1 || options->dispatches.count == 0)
		;
	else if (options->kernel_count > 0)
		kr_cli_say("no dispatch was chosen: none that --dispatch names is of a kernel that matches %s",
			   patterns.data);
	else
		kr_cli_say("no dispatch was chosen: --dispatch names none of the %llu dispatches",
			   (unsigned long long)report->dispatches);
	kr_text_finish(&patterns);
}

bool kr_cli_compared(const struct kr_report *report)
{
	if (report->replayed > 0)
		return true;
	kr_cli_say("--check=fail: no dispatch was replayed, so that nothing was compared");
	return false;
}
