<?php
// deep.php FRAMES: works below that many frames of PHP, until it is ended. The file's own code, run(), the outermost deep() and the leaf are frames as well.
function leaf($n)
{
	$h = 7;
	for ($i = 0; $i < $n; $i++) {
		$h = ($h * 31 + $i) % 1000003;
	}
	return $h;
}

function deep($left)
{
	return $left > 0 ? deep($left - 1) + 1 : leaf(100000);
}

function run($left)
{
	for (;;) {
		deep($left);
	}
}
run((int)$argv[1] - 4);
