/* start.js: the only script that a report contains as text: its hash is in the page's policy. It unpacks and starts the
 * modules, which find the data themselves. */
'use strict';
(async () => {
	const text = atob(/** @type {HTMLElement} */ (document.getElementById('modules')).textContent || '');
	const packed = Uint8Array.from(text, (c) => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
	const code = new Blob([await new Response(stream).arrayBuffer()], { type: 'text/javascript' });
	await import(URL.createObjectURL(code));
})().catch((e) => {
	const words = document.createElement('p');
	words.textContent = `This report cannot be shown here: ${e.message}. It needs a browser from 2023 or later.`;
	document.body.prepend(words);
});
