<?php
// Does work in functions of known structure, for a number of seconds of CPU time in all, with naps between, and states on stdout how much each took:
//     cpu FUNCTION MICROSECONDS

// The only function that uses much of the CPU.
function burn($n)
{
	$x = 1;
	for ($i = 0; $i < $n; $i++) {
		$x = ($x * 31 + $i) % 1000003;
	}
	return $x;
}

function inner($n)
{
	return burn($n) + 1;
}
function middle($n)
{
	return inner($n) + 1;
}
function heavy()
{
	return middle(6000);
}
function light()
{
	return middle(2000);
}

function deep($n)
{
	return $n ? deep($n - 1) + 1 : burn(4000);
}
function recurse()
{
	return deep(300);
}

class Shape
{
	private $n;
	function __construct($n)
	{
		$this->n = $n;
	}
	function area()
	{
		return burn($this->n);
	}
	function __get($name)
	{
		return $this->area() + 1;
	}
	static function of($n)
	{
		return (new Shape($n))->weight;
	}
	static function __callStatic($name, $args)
	{
		return burn($args[0]);
	}
}
function classes()
{
	return Shape::of(4000);
}
function magic()
{
	return Shape::anything(4000);
}

function sorts()
{
	$all = [5, 3, 8, 1, 9, 2, 7];
	usort($all, function ($a, $b) {
		burn(400);
		return $a <=> $b;
	});
	return $all[0];
}

function closures()
{
	$make = function ($n) {
		return function () use ($n) {
			return burn($n);
		};
	};
	return $make(4000)();
}

function numbers()
{
	for (;;) {
		yield burn(4000);
	}
}
function generates()
{
	static $running = null;
	$running = $running ?? numbers();
	$value = $running->current();
	$running->next();
	return $value;
}

function includes()
{
	return include __DIR__ . '/included.php';
}
function evals()
{
	return eval('return burn(4000);');
}

function raises()
{
	burn(4000);
	throw new RuntimeException('known');
}
function throws()
{
	try {
		return raises();
	} catch (RuntimeException $e) {
		return 1;
	}
}

function größe()
{
	return burn(4000);
}

// A fiber has a stack of its own.
function in_fiber()
{
	burn(2000);
	Fiber::suspend();
	return burn(2000);
}
function fibers()
{
	$fiber = new Fiber('in_fiber');
	$fiber->start();
	$fiber->resume();
	return $fiber->getReturn();
}

function naps()
{
	usleep(10000);
}

function spent()
{
	$r = getrusage();
	return 1e6 * ($r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec']) + $r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec'];
}

function main($seconds)
{
	$names = ['heavy', 'light', 'recurse', 'classes', 'magic', 'sorts', 'closures', 'generates', 'includes', 'evals', 'throws', 'größe'];
	if (class_exists('Fiber')) {
		$names[] = 'fibers';
	}
	$used = array_fill_keys($names, 0);
	while (array_sum($used) < 1e6 * $seconds) {
		foreach ($names as $name) {
			$before = spent();
			for ($i = 0; $i < 20; $i++) {
				$name();
			}
			$used[$name] += spent() - $before;
		}
		naps();
	}
	foreach ($used as $name => $us) {
		printf("cpu %s %d\n", $name, $us);
	}
}
main((float)($argv[1] ?? 3));
