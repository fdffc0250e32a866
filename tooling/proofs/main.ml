(* Read a certificate and check it: check-certificate [--change] FILE.

   With --change, switches may hold several configurations one after another, as while a wave's lines are executed.

   To trust a yes, read [read] below, and the statements that proofs.md lists. What finds frame states ([states_to]) and
   what explains a no need no trust: the extracted checker judges all they return. *)

open Checker

(* --- numbers: Coq's, in binary ------------------------------------------------------------------------------------ *)

let rec positive i = if i = 1 then XH else if i land 1 = 1 then XI (positive (i lsr 1)) else XO (positive (i lsr 1))
let number i = if i = 0 then N0 else Npos (positive i)
let rec plain_positive = function XH -> 1 | XO p -> 2 * plain_positive p | XI p -> (2 * plain_positive p) + 1
let plain = function N0 -> 0 | Npos p -> plain_positive p

(* --- the file ----------------------------------------------------------------------------------------------------- *)

exception Unreadable of string

let whole word =
  match int_of_string_opt word with
  | Some i when i >= 0 && i < 1 lsl 40 && string_of_int i = word -> number i
  | _ -> raise (Unreadable ("not a number: " ^ word))

let find n map = look n map
let put2 a b value map = put a (put b value (Option.value (find a map) ~default:nothing)) map
let fresh found what = if found <> None then raise (Unreadable (what ^ " stands twice"))
let has_letter letters letter = String.contains letters letter

let one_letter_each letters =
  String.iteri
    (fun i c -> if (not (String.contains "etuifl" c)) || String.index letters c <> i then raise (Unreadable ("letters " ^ letters)))
    letters

let port_config pvid letters =
  if letters <> "-" then one_letter_each letters;
  { is_enabled = has_letter letters 'e'; its_pvid = (if pvid = "-" then None else Some (whole pvid));
    is_tagged_taken = has_letter letters 't'; is_untagged_taken = has_letter letters 'u';
    is_filtering = has_letter letters 'i'; is_flooding = has_letter letters 'f';
    is_learning = has_letter letters 'l' }

let membership word =
  let port = whole (String.sub word 1 (String.length word - 1)) in
  match word.[0] with
  | 't' -> (port, Tagged)
  | 'u' -> (port, Untagged)
  | _ -> raise (Unreadable ("t or u and a port, not " ^ word))

(* The network as read so far; [at] is the switch whose configuration the next lines belong to. *)
type reading = { net : net; at : n option }

let last_config r =
  match r.at with
  | None -> raise (Unreadable "before any switch")
  | Some s -> (
      match find s r.net.configs_of with
      | Some (c :: earlier) -> (s, c, earlier)
      | _ -> raise (Unreadable "before any switch"))

let with_config r change =
  let s, c, earlier = last_config r in
  { r with net = { r.net with configs_of = put s (change c :: earlier) r.net.configs_of } }

let with_end net s p e =
  fresh (look2 s p net.ends_of) "a port";
  let ports = Option.value (find s net.ports_of) ~default:[] in
  { net with ends_of = put2 s p e net.ends_of; ports_of = put s (p :: ports) net.ports_of }

let line r words =
  match words with
  | [ "host"; h; s; p ] ->
      let h, s, p = (whole h, whole s, whole p) in
      fresh (find h r.net.hosts_at) "a host";
      let net = with_end r.net s p (HostPort h) in
      { r with net = { net with hosts_at = put h (s, p) net.hosts_at } }
  | [ "link"; s; p; s'; p' ] ->
      let s, p, s', p' = (whole s, whole p, whole s', whole p') in
      { r with net = with_end (with_end r.net s p (Link (s', p'))) s' p' (Link (s, p)) }
  | [ "rank"; s; p; rank ] ->
      let s, p, rank = (whole s, whole p, whole rank) in
      fresh (look2 s p r.net.ranks_of) "a rank";
      let top_rank = if plain rank > plain r.net.top_rank then rank else r.net.top_rank in
      { r with net = { r.net with ranks_of = put2 s p rank r.net.ranks_of; top_rank } }
  | [ "switch"; s ] ->
      let s = whole s in
      let configs = off :: Option.value (find s r.net.configs_of) ~default:[] in
      { net = { r.net with configs_of = put s configs r.net.configs_of }; at = Some s }
  | [ "port"; p; pvid; letters ] ->
      let p = whole p in
      with_config r (fun c ->
          fresh (find p c.its_ports) "a port";
          { c with its_ports = put p (port_config pvid letters) c.its_ports })
  | "vlan" :: v :: members ->
      let v = whole v in
      with_config r (fun c ->
          fresh (find v c.its_members) "a VLAN";
          let add map word =
            let p, how = membership word in
            fresh (find p map) "a member";
            put p how map
          in
          { c with its_members = put v (List.fold_left add nothing members) c.its_members })
  | "entry" :: v :: d :: ports ->
      let v, key = (whole v, dest_key (if d = "*" then Broadcast else To (whole d))) in
      with_config r (fun c ->
          fresh (look2 v key c.its_entries) "an entry";
          { c with its_entries = put2 v key (List.map whole ports) c.its_entries })
  | _ -> raise (Unreadable "an unknown line")

(* A switch that stands more than once holds its configurations one after another. *)
let read channel =
  let empty =
    { ports_of = nothing; ends_of = nothing; configs_of = nothing; hosts_at = nothing; ranks_of = nothing; top_rank = N0 }
  in
  let rec go r i =
    match input_line channel with
    | exception End_of_file -> r.net
    | text ->
        let words = List.filter (( <> ) "") (String.split_on_char ' ' text) in
        let r =
          match words with
          | [] -> r
          | "#" :: _ -> r
          | _ -> ( try line r words with Unreadable why -> raise (Unreadable (Printf.sprintf "line %d: %s" i why)))
        in
        go r (i + 1)
  in
  if input_line channel <> "certificate 1" then raise (Unreadable "line 1: expected: certificate 1");
  let net = go { net = empty; at = None } 2 in
  let ordered = List.fold_left (fun map (s, l) -> put s (List.rev l) map) nothing (items net.configs_of) in
  { net with configs_of = ordered }

(* --- what needs no trust ------------------------------------------------------------------------------------------ *)

let states_to net topology dest =
  let seen = Hashtbl.create 4096 and todo = Stack.create () and found = ref nothing in
  let add ((s, p), tag) =
    let key = (plain s, plain p, plain (tag_key tag)) in
    if not (Hashtbl.mem seen key) then begin
      Hashtbl.add seen key ();
      Stack.push ((s, p), tag) todo;
      let here = Option.value (look2 s p !found) ~default:nothing in
      found := put2 s p (put (tag_key tag) () here) !found
    end
  in
  List.iter (fun (h, c) -> if dest <> To h then add (c, None)) (items net.hosts_at);
  while not (Stack.is_empty todo) do
    let (s, p), tag = Stack.pop todo in
    let follow config =
      match answer topology (config_of config) s p tag dest with
      | None -> ()
      | Some (_, outs) -> List.iter (function Onto (c, t) -> add (c, t) | Into _ -> ()) outs
    in
    List.iter follow (configs net s)
  done;
  !found

(* For each frame state of broadcasts, the most copies that reach hosts, whatever configurations are met. *)
let bounds net topology =
  let found = Hashtbl.create 4096 and result = ref nothing in
  let limit = List.length (hosts net) in
  let rec bound ((s, p), tag) =
    let key = (plain s, plain p, plain (tag_key tag)) in
    match Hashtbl.find_opt found key with
    | Some b -> b
    | None ->
        Hashtbl.add found key 0;
        let copies outs = List.fold_left (fun n out -> n + match out with Onto (c, t) -> bound (c, t) | Into _ -> 1) 0 outs in
        let of_config config = min limit (copies (floods_to topology (config_of config) s p tag)) in
        let b = List.fold_left (fun most config -> max most (of_config config)) 0 (configs net s) in
        Hashtbl.replace found key b;
        let here = Option.value (look2 s p !result) ~default:nothing in
        result := put2 s p (put (tag_key tag) (number b) here) !result;
        b
  in
  List.iter (fun (_, c) -> ignore (bound (c, None))) (items net.hosts_at);
  !result

(* The frame states of broadcasts from which a copy reaches host [b] whatever configurations are met. *)
let sure_of net topology b =
  let found = Hashtbl.create 4096 and result = ref nothing in
  let rec sure ((s, p), tag) =
    let key = (plain s, plain p, plain (tag_key tag)) in
    match Hashtbl.find_opt found key with
    | Some answer -> answer
    | None ->
        Hashtbl.add found key false;
        let good = function Onto (c, t) -> sure (c, t) | Into h -> h = b in
        let held = configs net s in
        let by config = List.exists good (floods_to topology (config_of config) s p tag) in
        let answer = held <> [] && List.for_all by held in
        Hashtbl.replace found key answer;
        if answer then
          result := put2 s p (put (tag_key tag) () (Option.value (look2 s p !result) ~default:nothing)) !result;
        answer
  in
  List.iter (fun (_, c) -> ignore (sure (c, None))) (items net.hosts_at);
  !result

let explain net topology unknown change =
  let said fmt = Printf.ksprintf (fun text -> print_endline ("no: " ^ text)) fmt in
  let closed_to dest pinned = closed net topology dest pinned (states_to net topology dest) in
  if not (well_formed net) then said "a cable, a host, a rank or an entry does not fit the others"
  else if not (closed_to Broadcast false) then said "a broadcast waits for a channel that is not higher in the order"
  else if not (closed_to (To unknown) false) then said "a frame to an unknown address waits for a channel that is not higher"
  else
    match List.find_opt (fun h -> not (closed_to (To h) true)) (hosts net) with
    | Some h -> said "frames to host %d: not one way out by a static entry, or not upwards in the order" (plain h)
    | None when not change -> said "a broadcast is not received exactly once by each other host, or a switch has several configurations"
    | None -> said "a broadcast may be lost, or received more than once, at some line"

let () =
  let change, file =
    match Array.to_list Sys.argv with
    | [ _; "--change"; file ] -> (true, file)
    | [ _; file ] -> (false, file)
    | _ ->
        prerr_endline "usage: check-certificate [--change] FILE";
        exit 2
  in
  let net =
    try
      let channel = open_in file in
      Fun.protect ~finally:(fun () -> close_in channel) (fun () -> read channel)
    with
    | Unreadable why | Sys_error why | Invalid_argument why ->
        prerr_endline ("cannot read " ^ file ^ ": " ^ why);
        exit 2
    | End_of_file ->
        prerr_endline ("cannot read " ^ file ^ ": it is empty");
        exit 2
  in
  let topology = topology0 net (fun _ _ -> S O) in
  let known = List.map plain (hosts net) in
  let unknown = number (1 + List.fold_left max 0 known) in
  let states = states_to net topology in
  if if change then check_change net unknown states (bounds net topology) (sure_of net topology) else check_still net unknown states then begin
    Printf.printf "yes: %d hosts, %d channels\n" (List.length known) (List.length (items2 net.ends_of) - List.length known);
    exit 0
  end
  else begin
    explain net topology unknown change;
    exit 1
  end
