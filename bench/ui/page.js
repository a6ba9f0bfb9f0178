/* bench/ui/page.js: what is done inside the browser while run.mjs looks at the clock of its thread. The picture is
 * drawn when a step returns. */
import { Flame } from '/web/flame.js';
import { decodeTree } from '/web/tree.js';

const { d3, flamegraph } = window,
	host = document.getElementById('host'),
	bytes = new Map();
let flame = new Flame(host);

/** Until the pixels are there, now and not with the next frame. */
function finish() {
	cancelAnimationFrame(flame.frameRequest);
	flame.frameRequest = 0;
	flame.draw();
	flame.raster.ctx.getImageData(0, 0, 1, 1);
}
/** Blobs, so that a fetch of one does not leave the browser. */
async function load(name) {
	const body = await (await fetch(`/tree/${name}`)).arrayBuffer();
	bytes.set(name, URL.createObjectURL(new Blob([body])));
	return body.byteLength;
}
async function open(name) {
	flame.setTree(decodeTree(new Uint8Array(await (await fetch(bytes.get(name))).arrayBuffer())));
	finish();
}
/** One of n views, from everything to a thousandth of it. */
function redraw([i, n]) {
	const all = flame.layout.width[0],
		width = all / 10 ** ((3 * i) / n),
		from = (all - width) * ((i * 0.618) % 1);
	flame.setView(from, from + width);
	finish();
}
/** Nodes to click on: wide enough to be hit, in rows further and further down. */
function targets(n) {
	const { tree, layout } = flame,
		found = [];
	for (let row = 1; row < layout.rows && found.length < n; row++)
		for (let k = layout.first[row]; k < layout.first[row + 1]; k++) {
			const i = layout.order[k];
			if (layout.width[i] > layout.width[0] / 400 && tree.end[i] - i > 20) {
				found.push(i);
				break;
			}
		}
	return found;
}
/** Script time only, as of the peer: what the browser does after that is not in it. */
function zoomAll(nodes) {
	for (const node of nodes) {
		flame.zoomTo(node, { animate: false });
		flame.draw();
	}
}
function search(text) {
	flame.setSearch(text);
	finish();
}
/** Panning and zooming, each frame drawn when the component itself asks the browser for it: the gaps between frames, in
 * ms. moves: false for the same without anything to draw. */
async function animate({ frames, moves }) {
	const all = flame.layout.width[0],
		gaps = [];
	const frame = () =>
		new Promise((resolve) => {
			requestAnimationFrame(resolve);
		});
	let before = await frame();
	for (let i = 0; i < frames; i++) {
		const width = all * 0.55 * (1 + 0.8 * Math.cos(i / 9)),
			from = (all - width) * (0.5 + 0.5 * Math.sin(i / 17));
		if (moves) flame.setView(from, from + width);
		const now = await frame();
		gaps.push(now - before);
		before = now;
	}
	return gaps;
}
/** The same on d3-flame-graph, which does not draw what is narrower than a pixel, and does not animate. */
let chart;
const byId = new Map();
function peerData() {
	const { tree } = flame,
		items = [];
	for (let i = tree.n - 1; i >= 0; i--) {
		const children = [];
		for (let child = i + 1; child < tree.end[i]; child = tree.end[child]) children.push(items[child]);
		items[i] = { name: tree.name(i) || 'all', value: tree.total[i], children, id: i };
	}
	d3.select('#peer').datum(items[0]);
}
function peerOpen() {
	chart = flamegraph.default().width(host.clientWidth).cellHeight(18).minFrameSize(1).transitionDuration(0);
	d3.select('#peer').call(chart);
	d3.timerFlush();
}
function peerNodes() {
	d3.select('#peer')
		.datum()
		.each((d) => byId.set(d.data.id, d));
}
function peerZoomAll(nodes) {
	for (const node of nodes) {
		chart.zoomTo(byId.get(node));
		d3.timerFlush();
	}
}
function forget() {
	flame.destroy();
	flame = new Flame(host);
}
const steps = {
	load,
	open,
	redraw,
	targets,
	zoomAll,
	search,
	animate,
	peerData,
	peerOpen,
	peerNodes,
	peerZoomAll,
	forget
};
async function repeat(name, argument, n) {
	for (let i = 0; i < n; i++) await steps[name](argument);
}
window.bench = { ...steps, repeat };
