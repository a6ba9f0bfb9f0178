/* Pictures of the documentation that come from recordings of known truth (tests/fixture): `make pictures` writes them
 * anew. */
'use strict';
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { drawn, launch, open, serve } = require('./page.js');
const { project, tempDir } = require('./picture.js');

const START = Date.UTC(2026, 10, 22, 14) / 1000;

/* Strips of what GPUs' drivers say, what ran on them, and what threads did, on one clock; a part is chosen. */
async function timeline(browser) {
	const file = path.join(tempDir(), 'train.cresset'),
		build = path.resolve(project, process.env.BUILD || 'build');
	execFileSync(path.join(build, 'fixture', 'gpu'), [file, '0', String(START), 'more']);
	const server = await serve([file]);
	try {
		const at = (s) => new Date((START + s) * 1000).toISOString(),
			sel = `${(START + 2.6) * 1000}-${(START + 3.1) * 1000}`;
		const page = await open(browser, server.url, `timeline?q=wall&from=${at(2)}&to=${at(3.4)}&sel=${sel}`);
		await drawn(page);
		await page.waitForSelector('.tl-sum[data-total]');
		await page.waitForTimeout(500); /* the mark of the part, which fades in */
		await page.screenshot({ path: path.join(project, 'docs', 'timeline.png') });
		if (page.trouble.length) throw new Error(page.trouble.join('\n'));
	} finally {
		server.stop();
	}
}

(async () => {
	const browser = await launch();
	try {
		await timeline(browser);
	} finally {
		await browser.close();
	}
})();
