CREATE FUNCTION plait_release.plait_clock() RETURNS double precision
    LANGUAGE sql
    AS $$SELECT extract(epoch FROM clock_timestamp())::float8$$;
CREATE FUNCTION plait_release.plait_put_items(for_namespaces bytea[], for_keys text[], new_values bytea[], minutes double precision[], vector_owners integer[], new_vectors text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  moment float8 := plait_clock();
BEGIN
  DELETE FROM plait_items USING unnest(for_namespaces, for_keys, new_values)
    AS put (namespace, key, value)
  WHERE plait_items.namespace = put.namespace AND plait_items.key = put.key AND put.value IS NULL;
  INSERT INTO plait_items (namespace, key, value, created, updated, ttl, expires)
  SELECT namespace, key, value, moment, moment, ttl, moment + ttl * 60.0
  FROM unnest(for_namespaces, for_keys, new_values, minutes) AS put (namespace, key, value, ttl)
  WHERE value IS NOT NULL ORDER BY namespace, key
  ON CONFLICT (namespace, key) DO UPDATE SET
    value = excluded.value, updated = excluded.updated, ttl = excluded.ttl,
    expires = excluded.expires;
  DELETE FROM plait_item_vectors USING plait_items, unnest(for_namespaces, for_keys)
    AS put (namespace, key)
  WHERE item = id AND plait_items.namespace = put.namespace AND plait_items.key = put.key;
  IF vector_owners IS NOT NULL THEN
    INSERT INTO plait_item_vectors
    SELECT id, vector::real[] FROM unnest(vector_owners, new_vectors) AS new (place, vector)
    JOIN plait_items ON namespace = for_namespaces[place] AND key = for_keys[place];
  END IF;
END
$$;
CREATE TABLE plait_release.plait_item_vectors (
    item bigint NOT NULL,
    vector real[] NOT NULL
);
CREATE TABLE plait_release.plait_items (
    id bigint NOT NULL,
    namespace bytea NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL,
    created double precision NOT NULL,
    updated double precision NOT NULL,
    ttl double precision,
    expires double precision
);
ALTER TABLE plait_release.plait_items ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME plait_release.plait_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plait_release.plait_schema_versions (
    component text NOT NULL,
    version integer NOT NULL
);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (1, '\x757365727300753000', 'k0', '\x706c740130eafd8a722d18fa4266b0a65898c2de7c82a16e00a46576656ec3', 1795879850.423802, 1795879850.423802, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (2, '\x757365727300753100', 'k1', '\x706c740130e14b81a1069d10fec8bf072e459c20ae82a16e01a46576656ec2', 1795879850.43405, 1795879850.43405, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (3, '\x757365727300753200', 'k2', '\x706c7401300af9c7f61b661ca12eda13d431db445482a16e02a46576656ec3', 1795879850.435822, 1795879850.435822, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (4, '\x757365727300753000', 'k3', '\x706c74013063612b5387cddafbbcdfa6814e46400f82a16e03a46576656ec2', 1795879850.439176, 1795879850.439176, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (5, '\x757365727300753100', 'k4', '\x706c7401301248eba1528e6a9c8364721cc192319e82a16e04a46576656ec3', 1795879850.440629, 1795879850.440629, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (6, '\x757365727300753200', 'k5', '\x706c740130851f8f73139f02d3cef1cd94cec7a8d682a16e05a46576656ec2', 1795879850.441833, 1795879850.441833, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (7, '\x757365727300753000', 'k6', '\x706c7401305e9292cf46419c349ee1623a0582c76382a16e06a46576656ec3', 1795879850.443359, 1795879850.443359, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (8, '\x757365727300753100', 'k7', '\x706c740130e6dcd45d07bfc5fa307680f300307b9c82a16e07a46576656ec2', 1795879850.447083, 1795879850.447083, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (9, '\x757365727300753200', 'k8', '\x706c740130d6bde1e6a6229916c5c2fab15950b27a82a16e08a46576656ec3', 1795879850.44821, 1795879850.44821, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (10, '\x757365727300753000', 'k9', '\x706c740130584cbf4ea02627c8dff073ca8ba5e4b382a16e09a46576656ec2', 1795879850.449059, 1795879850.449059, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (11, '\x757365727300753100', 'k10', '\x706c740130767cae75c87e1ecbad2f88678ed3a96582a16e0aa46576656ec3', 1795879850.449889, 1795879850.449889, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (12, '\x757365727300753200', 'k11', '\x706c7401302c580e071e2b4a8bb03d190bf4718cbb82a16e0ba46576656ec2', 1795879850.450645, 1795879850.450645, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (13, '\x757365727300753000', 'k12', '\x706c7401308719312c6d617c8f166a45b734c8737b82a16e0ca46576656ec3', 1795879850.451406, 1795879850.451406, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (14, '\x757365727300753100', 'k13', '\x706c740130552174fac2ec92a082f04a6f9edb85a182a16e0da46576656ec2', 1795879850.452117, 1795879850.452117, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (15, '\x757365727300753200', 'k14', '\x706c74013080057e50b4931d438ed28375003c6ed282a16e0ea46576656ec3', 1795879850.452752, 1795879850.452752, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (16, '\x757365727300753000', 'k15', '\x706c740130f2dfeee2a2dc0c723ae3a729bc65937782a16e0fa46576656ec2', 1795879850.453394, 1795879850.453394, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (17, '\x757365727300753100', 'k16', '\x706c740130513aca58407150e9e9a5fb928b7cd68382a16e10a46576656ec3', 1795879850.455455, 1795879850.455455, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (18, '\x757365727300753200', 'k17', '\x706c7401304cad7561e15a565a6b74c4b3448f948682a16e11a46576656ec2', 1795879850.456419, 1795879850.456419, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (19, '\x757365727300753000', 'k18', '\x706c74013037ad9e577cac126f42b02482d5e3d51782a16e12a46576656ec3', 1795879850.457193, 1795879850.457193, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (20, '\x757365727300753100', 'k19', '\x706c7401309364f1a659a721254dda5e895e54358082a16e13a46576656ec2', 1795879850.457918, 1795879850.457918, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (21, '\x6f6464007827293b202d2d00', '$.k', '\x706c740130ac36109ccd1ea0ed8ba55a8cddb63f0a84a26174c7110b99cd07ea010100000000d60f9300000000a470616972c706019201d5059102a56279746573c4056279746573a46e6f6e65c0', 1795879850.459484, 1795879850.459484, NULL, NULL);
INSERT INTO plait_release.plait_items OVERRIDING SYSTEM VALUE VALUES (22, '\x73686f727400', 'kept', '\x706c740130d493065709a0bbcaa4fd1f3276907a4b81a468657265c3', 1795879850.460212, 1795879850.460212, 525600000, 33331879850.460213);
INSERT INTO plait_release.plait_schema_versions VALUES ('store', 1);
SELECT pg_catalog.setval('plait_release.plait_items_id_seq', 23, true);
ALTER TABLE ONLY plait_release.plait_items
    ADD CONSTRAINT plait_items_namespace_key_key UNIQUE (namespace, key);
ALTER TABLE ONLY plait_release.plait_items
    ADD CONSTRAINT plait_items_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plait_release.plait_schema_versions
    ADD CONSTRAINT plait_schema_versions_pkey PRIMARY KEY (component);
CREATE INDEX plait_item_vectors_by_item ON plait_release.plait_item_vectors USING btree (item);
CREATE INDEX plait_items_by_expiry ON plait_release.plait_items USING btree (expires) WHERE (expires IS NOT NULL);
ALTER TABLE ONLY plait_release.plait_item_vectors
    ADD CONSTRAINT plait_item_vectors_item_fkey FOREIGN KEY (item) REFERENCES plait_release.plait_items(id) ON DELETE CASCADE;
