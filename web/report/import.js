/* import.js: the page's Import screen: a file is dropped or chosen, the server reads it without keeping it, and it is
 * shown like a report. */
import '../page/core.js';
import { decodeContainer, gunzip } from './container.js';
import { el } from '../page/dom.js';
import { button } from './dom.js';
import { Viewer } from './viewer.js';
import { countDrawn } from '../page/dom.js';

/** @typedef {import('../page/app.js').App} App */

class Import {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.file = el('input', { type: 'file', hidden: true, onchange: () => this.open(this.file.files?.[0]) });
		this.words = el('p', { role: 'status' });
		this.trouble = el('p', { role: 'alert', class: 'rp-note', hidden: true });
		this.view = el('div');
		this.drop = el('div', { class: 'rp-drop' }, [
			el('h1', {}, ['Open a file']),
			el('p', {}, [
				'Drop a profile here: a cresset recording, pprof, folded stacks, perf.data, perf script, speedscope, ' +
					'Chrome or Firefox profiles, ',
				'callgrind or OTLP, optionally compressed with gzip, zstd or xz. Files are parsed on the server and not stored.'
			]),
			button('Choose a file', 'a profile in any supported format', () => this.file.click()),
			this.file,
			this.words
		]);
		this.root = el('div', { class: 'rp-import' }, [this.drop, this.trouble, this.view]);
		this.off = new AbortController();
		const { signal } = this.off;
		document.addEventListener('dragover', (e) => this.over(e, true), { signal });
		document.addEventListener('dragleave', (e) => this.over(e, false), { signal });
		document.addEventListener('drop', (e) => this.dropped(e), { signal });
		this.styles = addStyles();
		host.replaceChildren(this.root);
		countDrawn();
		if (app.dropped) this.open(app.dropped);
		app.dropped = null;
	}
	unmount() {
		this.off.abort();
		this.asking?.abort();
		this.viewer?.destroy();
		this.root.remove();
		this.styles.remove();
	}
	/** @param {DragEvent} e @param {boolean} over */
	over(e, over) {
		e.preventDefault();
		this.drop.classList.toggle('rp-over', over);
	}
	/** @param {DragEvent} e */
	dropped(e) {
		this.over(e, false);
		this.open(e.dataTransfer?.files[0]);
	}
	/** @param {File|undefined} file */
	async open(file) {
		if (!file) return;
		this.asking?.abort();
		const asking = (this.asking = new AbortController());
		this.say(`Reading ${file.name} …`, '');
		try {
			const answer = await this.app.fetch('api/v1/open', {}, asking.signal, file),
				bytes = new Uint8Array(await answer.arrayBuffer());
			this.viewer?.destroy();
			this.viewer = new Viewer(this.view, decodeContainer(await gunzip(bytes)), true);
			this.drop.classList.add('rp-small');
			this.say(file.name, '');
			document.title = `${file.name} · cresset`;
			countDrawn();
		} catch (e) {
			const { message, hint } = /** @type {import('../page/server.js').Refusal} */ (e);
			if (!asking.signal.aborted)
				this.say('', [`${file.name} cannot be shown: ${message}`, hint].filter(Boolean).join('. '));
		}
		this.file.value = '';
	}
	/** @param {string} words @param {string} trouble */
	say(words, trouble) {
		this.words.textContent = words;
		this.trouble.textContent = trouble;
		this.trouble.hidden = !trouble;
	}
}

/** The screen's style is a separate file, which is added and removed with the screen. */
function addStyles() {
	const link = el('link', { rel: 'stylesheet', href: new URL('./report.css', import.meta.url).href });
	document.head.append(link);
	return link;
}
/** @param {HTMLElement} host @param {App} app */
export const mount = (host, app) => new Import(host, app);
