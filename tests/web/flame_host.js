/* A page for the flame graph component alone. */
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { project } = require('./picture.js');

const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html; charset=utf-8' };
/* As strict as the server's. */
const POLICY = "default-src 'self'; frame-ancestors 'none'";
const PAGE =
	'<!doctype html><html lang="en"><title>flame</title><meta name="viewport" content="width=device-width">' +
	'<link rel="stylesheet" href="/flame.css"><link rel="stylesheet" href="/host.css"><main id="host"></main>';
const STYLE = 'html { color-scheme: light dark } body { margin: 0 } #host { height: 100vh }';

/* Serves web/ and that page. */
async function serve() {
	const server = http.createServer((request, response) => {
		const name = new URL(request.url, 'http://x').pathname,
			file = path.join(project, 'web', path.normalize(name));
		const body =
			name === '/'
				? PAGE
				: name === '/host.css'
					? STYLE
					: name === '/favicon.ico'
						? ''
						: fs.existsSync(file) && fs.statSync(file).isFile() && fs.readFileSync(file);
		response.writeHead(body === false ? 404 : 200, {
			'Content-Type': TYPES[path.extname(name)] || TYPES['.html'],
			'Content-Security-Policy': POLICY
		});
		response.end(body || '');
	});
	await new Promise((resolve) => {
		server.listen(0, '127.0.0.1', resolve);
	});
	return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

module.exports = { serve };
