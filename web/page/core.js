/* core.js: the modules that several files of the page share. Each file of the page (PAGE_ENTRY in the Makefile) imports
 * this one, so all of them share the same modules, and esbuild puts these into one file, page/core.js. A shared module
 * that is missing here fails the build: there would be two files of that name. */

import '../flame.js';
import '../gpu.js';
import '../gpu_idle.js';
import '../readings.js';
import '../tree_shape.js';
import './axis.js';
import './filter_bar.js';
import './query_bar.js';
import './range.js';
import './server.js';
import './state.js';
import './times.js';
import './trouble.js';
