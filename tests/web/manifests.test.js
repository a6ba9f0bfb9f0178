// tier: test
/* deploy/kubernetes: every object keeps the schema of its kind, has no key that the kind has not, and fits the
 * others. Schemas and types are Kubernetes' own, as kubernetes-models has them. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const ts = require('typescript');
const yaml = require('js-yaml');
const { project, program, tempDir } = require('./picture.js');

const directory = path.join(project, 'deploy', 'kubernetes');
const files = fs.readdirSync(directory).filter((name) => name.endsWith('.yaml'));
const objects = files.flatMap((file) =>
	yaml.loadAll(fs.readFileSync(path.join(directory, file), 'utf8')).map((object) => ({ file, object }))
);
const named = (kind, name) => {
	const found = objects.find(({ object }) => object.kind === kind && object.metadata.name === name);
	assert.ok(found, `there is a ${kind} ${name}`);
	return found.object;
};
const group = ({ apiVersion }) => 'kubernetes-models/' + apiVersion;

async function validate(object) {
	new (await import(group(object)))[object.kind](object).validate();
}

/* What TypeScript says of the objects, each written out as a literal of its type: a key too many is an error of it. */
function complaints(list) {
	const name = path.join(__dirname, 'manifests.mts');
	const text = list
		.map(
			(object, i) =>
				`import type { I${object.kind} as T${i} } from '${group(object)}';\n` +
				`export const o${i}: T${i} = ${JSON.stringify(object)};\n`
		)
		.join('');
	const options = {
		noEmit: true,
		strict: true,
		skipLibCheck: true,
		types: [],
		target: ts.ScriptTarget.ES2022,
		module: ts.ModuleKind.Node16,
		moduleResolution: ts.ModuleResolutionKind.Node16
	};
	const host = ts.createCompilerHost(options),
		{ getSourceFile, fileExists } = host;
	host.fileExists = (file) => file === name || fileExists(file);
	host.getSourceFile = (file, ...rest) =>
		file === name ? ts.createSourceFile(file, text, options.target) : getSourceFile(file, ...rest);
	return ts
		.getPreEmitDiagnostics(ts.createProgram([name], options, host))
		.map((d) => ts.flattenDiagnosticMessageText(d.messageText, '\n'));
}

for (const { file, object } of objects)
	test(`${file}: ${object.kind} ${object.metadata.name} keeps the schema`, () => validate(object));

test('no object has a key that its kind has not', () => {
	assert.deepStrictEqual(complaints(objects.map(({ object }) => object)), []);
});

test('the checks find what is wrong', async () => {
	const agent = structuredClone(named('DaemonSet', 'cresset-agent'));
	agent.spec.template.spec.hostPIDs = true;
	assert.match(complaints([agent]).join(), /hostPIDs/);
	delete agent.spec.selector;
	await assert.rejects(validate(agent), /selector/);
});

test('what the pods mount is there or said to be made', () => {
	const secrets = ['cresset-tokens', 'cresset-agent-token', 'cresset-tls'],
		made = ['cresset-ca'];
	const said = fs.readFileSync(path.join(directory, 'secret.yaml'), 'utf8');
	for (const set of [named('DaemonSet', 'cresset-agent'), named('StatefulSet', 'cresset')]) {
		const spec = set.spec.template.spec,
			claims = set.spec.volumeClaimTemplates ?? [];
		const volumes = [...spec.volumes, ...claims.map((claim) => ({ name: claim.metadata.name }))];
		for (const container of spec.containers)
			for (const mount of container.volumeMounts)
				assert.ok(
					volumes.some((volume) => volume.name === mount.name),
					mount.name
				);
		for (const volume of spec.volumes) {
			if (volume.secret)
				assert.ok(secrets.includes(volume.secret.secretName) && said.includes(volume.secret.secretName));
			if (volume.configMap && made.includes(volume.configMap.name))
				assert.ok(said.includes(volume.configMap.name));
			else if (volume.configMap) named('ConfigMap', volume.configMap.name);
		}
		assert.deepStrictEqual(set.spec.selector.matchLabels, set.spec.template.metadata.labels);
		named('ServiceAccount', spec.serviceAccountName);
	}
});

test('the service finds the server, and the agent the service', () => {
	const service = named('Service', 'cresset'),
		server = named('StatefulSet', 'cresset').spec.template;
	assert.deepStrictEqual(service.spec.selector, server.metadata.labels);
	const ports = server.spec.containers[0].ports.map((port) => port.name);
	assert.ok(service.spec.ports.every((port) => ports.includes(port.targetPort)));
	const agent = yaml.load(named('ConfigMap', 'cresset-agent').data['agent.yaml']);
	assert.strictEqual(agent.server, `https://${service.metadata.name}.cresset.svc:${service.spec.ports[0].port}`);
});

/* The agent's permissions are those of its systemd unit, and CHOWN: nobody has made its directory. */
test('the agent has the capabilities that its unit has', () => {
	const unit = fs.readFileSync(path.join(project, 'deploy', 'systemd', 'cresset-agent.service'), 'utf8');
	const wanted = /^CapabilityBoundingSet=(.*)$/m
		.exec(unit)[1]
		.split(' ')
		.map((cap) => cap.replace('CAP_', ''));
	const { capabilities } = named('DaemonSet', 'cresset-agent').spec.template.spec.containers[0].securityContext;
	assert.deepStrictEqual(capabilities.drop, ['ALL']);
	assert.deepStrictEqual([...capabilities.add].sort(), [...wanted, 'CHOWN'].sort());
});

/* Whether this program has the command yet, and takes what the pod gives it. */
function takes(args, config) {
	const file = path.join(tempDir(), 'config.yaml'),
		at = args.indexOf('--config');
	fs.writeFileSync(file, config);
	execFileSync(program, [...args.slice(0, at + 1), file, ...args.slice(at + 2), '--help']);
}
const commands = execFileSync(program, ['--help'], { encoding: 'utf8' });
for (const [kind, name, key] of [
	['DaemonSet', 'cresset-agent', 'agent.yaml'],
	['StatefulSet', 'cresset', 'server.yaml']
]) {
	const { args } = named(kind, name).spec.template.spec.containers[0];
	const skip = !commands.includes(`\n  ${args[0]} `) && `there is no cresset ${args[0]}`;
	test(`cresset ${args[0]} takes the arguments and the file of its pod`, { skip }, () => {
		const map = objects.find(({ object }) => object.kind === 'ConfigMap' && object.data[key]).object;
		takes(args, map.data[key]);
	});
}

test('the tokens are a file that the server reads', () => {
	const file = path.join(tempDir(), 'tokens');
	fs.writeFileSync(file, named('Secret', 'cresset-tokens').stringData.tokens);
	assert.match(execFileSync(program, ['token', 'list', '--tokens', file], { encoding: 'utf8' }), /agents/);
});
